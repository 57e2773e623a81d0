// Keeps README.md and docs/ honest, without a compiler:
//
// - Each Solidity block repeats a file below docs/examples/ or a part of one, which tools/consumer compiles and tests.
//   The comment above it says which: <!-- docs/examples/src/Market.sol --> or <!-- …/Market.sol:price -->, where
//   `// ANCHOR: price` and `// ANCHOR_END: price` stand around the part. It is repeated, not included, since most people
//   read Markdown as it is.
// - Each relative link leads to a file, and each anchor to a heading of it.
// - Each page is in the book's table of contents.
//
// node tools/docs.js            checks; exits 1 and names what is wrong
// node tools/docs.js --update   writes the blocks anew
// node tools/docs.js --sh PAGE  prints the shell blocks of a page for tools/consumer to run
const fs = require('fs');
const path = require('path');

const root = path.join(__dirname, '..');
process.chdir(root);
const read = (file) => fs.readFileSync(file, 'utf8');
const markdown = (folder) =>
  fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return markdown(file);
    return entry.name.endsWith('.md') ? [file] : [];
  });

// The fenced blocks of a text: where they are, their language, and the comment in the line above, if there is one.
function* blocks(text) {
  for (const match of text.matchAll(/^(?:<!-- (.*) -->\n)?```(\w+)[^\n]*\n([\s\S]*?)^```$/gm)) {
    const [whole, comment, language, code] = match;
    const from = match.index + whole.length - code.length - 3;
    const line = text.slice(0, from).split('\n').length - 1;
    yield { comment, language, code, from, line };
  }
}

// What a comment refers to: a whole file, or the part between two anchors, without the common indentation.
function excerpt(reference) {
  const [file, anchor] = reference.split(':');
  if (!file.startsWith('docs/examples/') || !fs.existsSync(file)) return undefined;
  let lines = read(file).trimEnd().split('\n');
  if (anchor) {
    const first = lines.findIndex((line) => line.trim() === `// ANCHOR: ${anchor}`);
    const last = lines.findIndex((line) => line.trim() === `// ANCHOR_END: ${anchor}`);
    if (first < 0 || last < first) return undefined;
    lines = lines.slice(first + 1, last);
  }
  lines = lines.filter((line) => !/^\s*\/\/ ANCHOR/.test(line));
  // forge fmt wants blank lines around the anchors, too.
  lines = lines.filter((line, at) => line || lines[at - 1]);
  if (lines.at(-1) === '') lines.pop();
  const indents = lines.filter((line) => line).map((line) => line.match(/^ */)[0].length);
  const indent = Math.min(...indents);
  return lines.map((line) => line.slice(indent) + '\n').join('');
}

// GitHub's and mdbook's name of a heading.
const slug = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
const withoutCode = (text) => text.replace(/^```[\s\S]*?^```$/gm, '');
const headings = (file) => [...withoutCode(read(file)).matchAll(/^#+ (.*)$/gm)].map((match) => slug(match[1]));

const wrong = [];

function checkBlocks(file, update) {
  let text = read(file);
  // From the last one, so that the places of the others stay.
  for (const { comment, language, code, from, line } of [...blocks(text)].reverse()) {
    if (language !== 'solidity') continue;
    const expected = comment && excerpt(comment);
    if (expected === undefined) {
      wrong.push(`${file}:${line}: the line above must name a file below docs/examples/, or a part: ${comment ?? 'nothing there'}`);
    } else if (code !== expected) {
      if (update) text = text.slice(0, from) + expected + text.slice(from + code.length);
      else wrong.push(`${file}:${line}: is not ${comment}; run node tools/docs.js --update`);
    }
  }
  if (update) fs.writeFileSync(file, text);
}

function checkLinks(file) {
  for (const [, target] of withoutCode(read(file)).matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [to, anchor] = target.split('#');
    const resolved = to ? path.posix.join(path.posix.dirname(file), to) : file;
    if (!fs.existsSync(resolved)) wrong.push(`${file}: there is nothing at ${target}`);
    else if (anchor && !headings(resolved).includes(anchor)) wrong.push(`${file}: no heading for ${target}`);
  }
}

const [mode, page] = process.argv.slice(2);
if (mode === '--sh') {
  // Run as they are, but for those whose comment says otherwise.
  for (const { comment = '', language, code } of blocks(read(page))) {
    if (language !== 'sh' || comment.startsWith('not run: ')) continue;
    const instead = comment.match(/^run instead: (.*)$/);
    console.log(instead ? instead[1] : code);
  }
} else {
  const pages = markdown('docs');
  for (const file of ['README.md', ...pages]) {
    checkBlocks(file, mode === '--update');
    checkLinks(file);
  }
  const summary = read('docs/SUMMARY.md');
  for (const file of pages) {
    const name = file.slice('docs/'.length);
    if (name !== 'SUMMARY.md' && !summary.includes(`](${name})`)) wrong.push(`docs/SUMMARY.md: ${name} is missing`);
  }
  if (wrong.length > 0) {
    console.error(wrong.join('\n'));
    process.exit(1);
  }
}
