// What a CSL program with launches shows: which tile program stands where, launches over time, functions and lines.
'use strict';

// "pe.csl (n=4, role=1)" -> the file, and its parameters.
function tileParts(name) {
  const at = name.indexOf(' ('), file = at < 0 ? name : name.slice(0, at), parts = [];
  let depth = 0, part = '';
  for (const c of at < 0 ? '' : name.slice(at + 2, -1) + ',') {
    depth += '({['.includes(c) ? 1 : ')}]'.includes(c) ? -1 : 0;
    if (c === ',' && depth === 0) { parts.push(part.trim()); part = ''; } else part += c;
  }
  return {file, parts};
}

// Tile programs in the groups that the page shows: each alone if there are few; else those of the same file that export the
// same functions and are equally long, which is what PEs of one role have in common. Parameters in which a group's
// programs differ from others of the file (few), or from each other (many), tell them apart.
function tileGroups() {
  const kFew = 12, few = stats.tiles.length <= kFew, groups = new Map();
  const all = stats.tiles.map((t, i) => ({...t, ...tileParts(t.name), rects: data.tile_rects[i]}));
  all.forEach((t, i) => {
    const key = few ? i : [t.file, t.bytes, ...t.functions].join('|');
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(t);
  });
  const list = [...groups.values()];
  return list.map((tiles, i) => {
    const {file, functions, bytes} = tiles[0], same = few ? all.filter(t => t.file === file) : tiles;
    const differ = tiles[0].parts.filter(p => !same.every(t => t.parts.includes(p)));
    const ofFile = list.filter(g => g[0].file === file), letter = String.fromCharCode(65 + ofFile.indexOf(tiles) % 26);
    const short = few ? differ.join(' ') || file : ofFile.length > 1 ? letter : file;
    const sum = key => tiles.reduce((a, t) => a + t[key], 0), stalls = {};
    for (const why of Object.keys(stats.stalls)) stalls[why] = tiles.reduce((a, t) => a + t.stalls[why], 0);
    return {name: short === file ? file : `${file} ${short}`, short, functions, bytes, programs: tiles.length, stalls, pes: sum('pes'), busy: sum('busy'),
      idle: sum('idle'), color: kTileColors[i % kTileColors.length], rects: tiles.flatMap(t => t.rects),
      note: few ? tiles[0].name : `differ in ${differ.map(p => p.split('=')[0]).join(', ') || 'nothing'}`};
  });
}
const kTileColors = ['#3f5468', '#6a3fc0', '#0e7490', '#b45309', '#1d6b47', '#a32e2e', '#0072b2', '#8d6e00', '#7a3b69', '#4d6b1d'];
const tileColor = i => kTileColors[i % kTileColors.length];
const kTiles = tileGroups();
const tileAt = (x, y) => stats.tiles[data.tile_rects.findIndex(rects => rects.some(r => x >= r[0] && y >= r[1] && x < r[0] + r[2] && y < r[1] + r[3]))];

// The boxes of the floorplan where no kernels are known.
const tileBoxes = () => kTiles.flatMap(t => t.rects.map(rect => ({name: t.short, rect, color: t.color})));

// In the order of their first launches; of each all of them.
function launchedFunctions() {
  const rows = new Map();
  for (const l of stats.launches) {
    if (!rows.has(l.function)) rows.set(l.function, {name: l.function, launches: [], pes: l.pes});
    rows.get(l.function).launches.push(l);
  }
  return [...rows.values()].map(f => {
    const ended = f.launches.filter(l => l.end !== null), cycles = ended.map(l => l.cycles);
    const longest = ended.reduce((a, b) => a === null || b.cycles > a.cycles ? b : a, null);
    return {...f, ended: ended.length, cycles: cycles.reduce((a, b) => a + b, 0), longest,
      pe_cycles: ended.reduce((a, l) => a + l.pe_cycles, 0)};
  });
}

const peText = pe => `PE (${pe[0]}, ${pe[1]})`;

function launchesByFunction() {
  const rows = launchedFunctions();
  return table(rows, [
    {title: 'Function', value: f => f.name, cell: f => make('b', {}, f.name)},
    {title: 'Launches', num: true, value: f => f.launches.length},
    {title: 'Cycles', num: true, value: f => f.cycles, help: 'of all launches: from the first instruction on the first PE until the last PE has given its command stream back'},
    {title: 'Share', num: true, value: f => f.cycles, cell: f => percent(f.cycles, stats.launched_cycles)},
    {title: 'Longest', num: true, value: f => f.longest ? f.longest.cycles : null},
    {title: 'PEs', num: true, value: f => f.pes, help: 'that have the function'},
    {title: 'PE time', num: true, value: f => f.cycles > 0 ? f.pe_cycles / (f.cycles * f.pes) : null, cell: f => percent(f.pe_cycles, f.cycles * f.pes),
      help: 'how much of the launch a PE is in the function, on average: 100 % if all begin and end together'},
    {title: 'Ended last', value: f => f.longest ? f.longest.end - f.longest.first_end : 0, cell: f => !f.longest ? 'never ended' :
      make('div', {}, peText(f.longest.last_pe), make('div', {className: 'sub'}, `${number(f.longest.end - f.longest.first_end)} behind the first`))},
  ]);
}

function launchTable() {
  const head = stats.launches.slice(0, 2000);
  return table(head, [
    {title: 'Function', value: l => l.function, cell: l => make('b', {}, l.function)},
    {title: 'Issued', num: true, value: l => l.issued, help: 'cycle in which the call is at the PEs'},
    {title: 'Begin', num: true, value: l => l.begin, help: 'first instruction on the first PE'},
    {title: 'End', num: true, value: l => l.end, help: 'the last PE has given its command stream back'},
    {title: 'Cycles', num: true, value: l => l.cycles},
    {title: 'PEs', num: true, value: l => l.pes, help: 'that have the function', cell: l => l.pes_ended === l.pes ? number(l.pes) : `${number(l.pes_ended)} of ${number(l.pes)} ended`},
    {title: 'Last PE', value: l => l.end, cell: l => l.last_pe ? peText(l.last_pe) : '–'},
  ]);
}

// A row per function, a bar per launch. What has not ended goes on to the end of the run.
function launchBars() {
  const rows = launchedFunctions().slice(0, 40);
  if (rows.length === 0) return null;
  const row = 20, cycles = binsCycles(), [canvas, g] = surface(kChartWidth, rows.length * row + 30);
  timeAxis(g, 4, rows.length * row, cycles);
  const place = l => [kLeft + l.begin / cycles * kPlot, kLeft + (l.end === null ? cycles : l.end) / cycles * kPlot];
  rows.forEach((f, n) => {
    const y = 4 + n * row;
    rowLabel(g, f.name, y, row);
    for (const l of f.launches) {
      if (l.begin === null) continue;
      const [x0, x1] = place(l), w = Math.max(1.5, x1 - x0);
      g.fillStyle = l.end === null ? '#a32e2e' : tileColor(n);
      g.fillRect(x0, y + 3, w, row - 6);
      const label = l.end === null ? 'not over' : number(l.cycles);
      if (g.measureText(label).width + 10 >= w) continue;
      g.fillStyle = '#fff';
      g.fillText(label, x0 + 5, y + row / 2 + 4);
    }
  });
  hover(canvas, e => {
    const f = rows[Math.floor((e.offsetY - 4) / row)];
    const l = f && f.launches.find(l => l.begin !== null && place(l)[0] - 2 <= e.offsetX && e.offsetX <= place(l)[1] + 2);
    return l ? `${l.function} on ${number(l.pes)} PEs\ncycles ${number(l.begin)} to ${number(l.end)}: ${number(l.cycles)}`
      + (l.last_pe ? `\n${peText(l.last_pe)} ended last, ${number(l.end - l.first_end)} behind the first` : '') : null;
  });
  return make('div', {className: 'figure'}, make('h3', {style: {marginTop: '20px'}}, 'Launches'), canvas);
}

function functionTable() {
  const main = f => f.kind !== 'microthread', all = stats.functions.filter(main).reduce((a, f) => a + f.pe_cycles, 0);
  return table(stats.functions.slice(0, 500), [
    {title: 'Function', value: f => f.function, cell: f => make('b', {}, f.function)},
    {title: 'Kind', value: f => f.kind, cell: f => f.kind},
    {title: 'Where', value: f => f.where, cell: f => f.where || '–'},
    {title: 'Runs', num: true, value: f => f.runs, help: 'on all PEs together'},
    {title: 'PEs', num: true, value: f => f.pes},
    {title: 'PE cycles', num: true, value: f => f.pe_cycles, help: 'from its first instruction to its last one, all runs'},
    {title: 'Share', num: true, value: f => main(f) ? f.pe_cycles : 0, cell: f => main(f) ? percent(f.pe_cycles, all) : 'beside', help: 'of what ran on main threads'},
    {title: 'A run', num: true, value: f => f.pe_cycles / f.runs, cell: f => number(f.pe_cycles / f.runs, 1)},
    {title: 'Longest', num: true, value: f => f.longest, cell: f => make('div', {}, number(f.longest), make('div', {className: 'sub'}, peText(f.longest_pe)))},
  ]);
}

// The table of some of the lines, with their shares of all.
function lineTable() {
  const all = stats.lines.reduce((a, l) => a + l.pe_cycles, 0);
  return rows => table(rows, [
    {title: 'Line', value: l => l.pe_cycles, cell: l => make('b', {}, l.line === null ? 'no line' : `${l.file}:${l.line}`)},
    {title: 'PE cycles', num: true, value: l => l.pe_cycles},
    {title: 'Share', num: true, value: l => l.pe_cycles, cell: l => percent(l.pe_cycles, all)},
    {title: 'What it did', value: l => l.busy / l.pe_cycles, cell: l => make('div', {}, stateBar({...l, idle: 0}, true), make('div', {className: 'sub'}, percent(l.busy, l.pe_cycles) + ' busy'))},
  ]);
}

function tileTable() {
  return table(kTiles, [
    {title: 'Tile program', value: t => t.name, cell: t => make('div', {title: t.note}, make('i', {className: 'dot', style: {background: t.color}}), t.name)},
    {title: 'Functions', wrap: true, value: t => t.functions.join(), cell: t => t.functions.join(', ') || '–'},
    {title: 'Programs', num: true, value: t => t.programs, help: 'with parameters of their own', cell: t => make('div', {title: t.note}, number(t.programs))},
    {title: 'PEs', num: true, value: t => t.pes},
    {title: 'Bytes', num: true, value: t => t.bytes},
    {title: 'PE time', value: t => t.busy / total(t), cell: t => make('div', {}, stateBar(t, true), make('div', {className: 'sub'}, percent(t.busy, total(t)) + ' busy'))},
  ]);
}

// Sections of programs with launches or without a host part; the others disappear.
function cslSections() {
  if (stats.launches.length > 0) {
    byId('launch-lead').textContent = 'A launch lasts from its first instruction on the first PE until the last PE has given its command stream back. '
      + `${number(stats.launched_cycles)} of ${number(stats.cycles)} cycles lie in launches. `
      + (stats.host_call_us > 0 ? `The host's own calls take ${duration(stats.host_call_us * stats.clock_mhz)} on its own clock, which is in none of these figures.` : '');
    show('launch-functions', launchesByFunction());
    show('launch-table', launchTable());
  } else {
    drop('launches');
  }
  if (stats.functions.length > 0) show('function-table', functionTable()); else drop('functions');
  if (stats.lines.length > 0) {
    const rows = lineTable(), kShown = 12;
    show('line-table', rows(stats.lines.slice(0, kShown)));
    if (stats.lines.length > kShown) show('more-lines', rows(stats.lines.slice(kShown, 500))); else byId('more-lines').parentNode.remove();
  } else {
    drop('lines');
  }
  if (stats.tiles.length > 0 && stats.kernels.length === 0) show('tile-table', tileTable());
}
