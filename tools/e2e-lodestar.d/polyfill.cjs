// What Lodestar's dependencies expect of a newer Node than 20.
Promise.withResolvers ??= function () {
  let resolve, reject;
  const promise = new this((...both) => ([resolve, reject] = both));
  return { promise, resolve, reject };
};
