#!/usr/bin/env node
// The gas table of README.md, from snapshots/: printed, or with --write put between the two markers, or with --check
// compared with what is between them.
const fs = require('fs');
const path = require('path');

const root = path.join(__dirname, '..');

// What each path is measured against: the same transaction without a breaker. There is no probe without one.
const PATHS = {
  'closed, ok': 'plain',
  'closed, first fail': 'try/catch: fails',
  'trip': 'try/catch: fails',
  'later trip': 'try/catch: fails',
  'open': 'plain backup',
  'half-open, ok': 'plain',
  'half-open, fails': 'try/catch: fails',
  'probe, ok': null,
  'probe, fails': null,
};

// Where each host was measured, and what without a breaker has the same functions as it.
const HOSTS = {
  'by hand': 'safeAsk',
  'guarded': 'safeAsk',
  'decorated': 'safeAsk',
  'decorated with': 'safeAsk',
  'proxy': 'proxy',
  'article layout': 'safeAsk',
};

const BEGIN = '<!-- gas:begin -->';
const END = '<!-- gas:end -->';

function stop(why) {
  console.error(`gas table: ${why}`);
  process.exit(1);
}

function figure(snapshot, name) {
  const file = `snapshots/${snapshot}.json`;
  const gas = JSON.parse(fs.readFileSync(path.join(root, file), 'utf8'));
  if (!(name in gas)) stop(`${file} has no "${name}"`);
  return Number(gas[name]);
}

const shown = (n) => n.toLocaleString('en-US');
const signed = (n) => (n < 0 ? '−' : '+') + shown(Math.abs(n));

function table() {
  const head = ['path', 'without a breaker', ...Object.keys(HOSTS)];
  const rows = Object.entries(PATHS).map(([name, baseline]) => {
    const cells = Object.entries(HOSTS).map(([host, snapshot]) => {
      const total = figure(snapshot, `${host}: ${name}`);
      return baseline ? `${shown(total)} (${signed(total - figure(snapshot, baseline))})` : shown(total);
    });
    return [name, baseline ? `${shown(figure('safeAsk', baseline))} (${baseline})` : '–', ...cells];
  });
  const rule = head.map((_, column) => (column === 0 ? '---' : '---:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function readme() {
  const file = path.join(root, 'README.md');
  const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin) {
    stop(`README.md has no place for it: add the lines ${BEGIN} and ${END}, then make gas UPDATE=1`);
  }
  return { file, text, updated: `${text.slice(0, begin)}${BEGIN}\n${table()}\n${text.slice(end)}` };
}

const mode = process.argv[2];
if (mode === undefined) {
  console.log(table());
} else if (mode === '--write') {
  const { file, updated } = readme();
  fs.writeFileSync(file, updated);
} else if (mode === '--check') {
  const { text, updated } = readme();
  if (text !== updated) stop('README.md shows other figures than snapshots/: make gas UPDATE=1');
} else {
  stop(`${mode}? There are --write and --check`);
}
