// Lodestar with epochs of 16 slots. A node without peers takes itself for one that has fallen behind once its head is an
// epoch old, and proposes nothing ever after. The minimal preset's 8 slots leave no room for an outage that trips a breaker.
import { minimalPreset } from "./node_modules/@lodestar/params/lib/presets/minimal.js";

minimalPreset.SLOTS_PER_EPOCH = 16;
await import("./node_modules/@chainsafe/lodestar/lib/index.js");
