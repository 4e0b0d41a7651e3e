// The critical path, and which kernel waits for which.
'use strict';

const kCauseWords = {start: 'could work from here on', launch: 'was launched', input: 'wavelets of', output: 'room made by', host: 'the host:',
  link: 'wavelets held up by'};
const kCauseColors = {input: '#0072b2', output: '#d55e00', host: '#009e73', link: '#cc79a7', launch: '#56b4e9', start: '#5b6876'};
// Colours of kernels on the path, the largest share first; ways and small shares are grey.
const kPathColors = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#8d8400', '#6a3fc0'];

function criticalSection() {
  const path = stats.set_by, length = path.end - path.begin;
  byId('critical-lead').textContent = path.text[0].toUpperCase() + path.text.slice(1) + '. ' + (path.steady ?
    `Back from where the path goes over to samples before the last one, over ${number(length)} cycles: as many as the intervals that are measured.` :
    'Back from the end of the last sample to the start of the run.');
  const parts = path.shares.map((s, i) => ({...s, color: kPathColors[i] || '#9aa5b1'}));
  if (path.ways > 0) parts.push({kernel: 'ways between them', cycles: path.ways, share: path.ways / length, color: '#dfe4e9'});
  const bar = make('div', {className: 'bar'}, ...parts.map(p => make('span', {style: {width: 100 * p.share + '%', background: p.color}})));
  hover(bar, () => parts.map(p => `${p.kernel}: ${percent(p.cycles, length)}`).join('\n'));
  const legend = make('div', {className: 'legend'}, ...parts.slice(0, 12).map(p => make('span', {},
    make('i', {style: {background: p.color}}), `${p.kernel} ${percent(p.cycles, length)}`)));
  byId('critical-bar').append(bar, legend);
  byId('critical-table').append(table(stats.critical_path, [
    {title: 'Begin', num: true, value: s => s.begin},
    {title: 'End', num: true, value: s => s.end},
    {title: 'Cycles', num: true, value: s => s.end - s.begin},
    {title: 'Kernel', value: s => s.kernel, cell: s => make('b', {}, s.kernel)},
    {title: 'Sample', num: true, value: s => s.sample, cell: s => s.sample === s.last_sample ? s.sample : `${s.sample} … ${s.last_sample}`},
    {title: 'Began with', value: s => s.cause, cell: s => kCauseWords[s.cause] + (s.from ? ' ' + s.from : '')},
  ], 0));
}

// By pair of kernels: cycles of each cause.
function waitPairs() {
  const pairs = new Map();
  for (const w of stats.waits) {
    const key = w.kernel + '\n' + w.for;
    if (!pairs.has(key)) pairs.set(key, {kernel: w.kernel, for: w.for, cycles: 0, causes: {}});
    const pair = pairs.get(key);
    pair.cycles += w.cycles;
    pair.causes[w.cause] = (pair.causes[w.cause] || 0) + w.cycles;
  }
  return [...pairs.values()].sort((a, b) => b.cycles - a.cycles);
}

// A row per pair, the longest first: who waits, an arrow as long as the wait, for whom.
function waitsGraph() {
  const all = waitPairs(), shown = all.slice(0, 24), row = 20, left = 300, right = 300, width = 1160;
  const [canvas, g] = surface(width, shown.length * row + 6);
  const longest = shown[0].cycles, room = width - left - right;
  const label = (text, x, y, align) => {
    let cut = text;
    while (cut.length > 1 && g.measureText(cut).width > left - 20) cut = cut.slice(0, -1);
    g.fillStyle = '#1c2530';
    g.textAlign = align;
    g.fillText(cut.length < text.length ? cut.slice(0, -1) + '…' : cut, x, y + row / 2 + 4);
  };
  shown.forEach((p, n) => {
    const y = 3 + n * row;
    label(p.kernel, left - 10, y, 'right');
    let x = left;
    for (const [cause, cycles] of Object.entries(p.causes)) {
      const w = Math.max(1, cycles / longest * (room - 16));
      g.fillStyle = kCauseColors[cause];
      g.fillRect(x, y + 5, w, row - 10);
      x += w;
    }
    g.beginPath();
    g.moveTo(x, y + 2);
    g.lineTo(x + 9, y + row / 2);
    g.lineTo(x, y + row - 2);
    g.fill();
    label(p.for === p.kernel ? 'PEs of its own' : p.for, x + 16, y, 'left');
  });
  hover(canvas, e => {
    const p = shown[Math.floor((e.offsetY - 3) / row)];
    return p ? `${p.kernel} waits for ${p.for}: ${number(p.cycles)} PE cycles\n`
      + Object.entries(p.causes).map(([c, v]) => `${c}: ${number(v)}`).join('\n') : null;
  });
  const causes = [...new Set(stats.waits.map(w => w.cause))];
  const legend = make('div', {className: 'legend'}, ...causes.map(c => make('span', {}, make('i', {style: {background: kCauseColors[c]}}), c)),
    all.length > shown.length ? make('span', {}, `${all.length - shown.length} shorter ones in the table`) : null);
  return make('div', {className: 'figure'}, canvas, legend);
}

function waitsSection() {
  byId('waits-lead').textContent = 'PE cycles, whole run. input: for wavelets of the other one; output: until the other one made room; host: for wavelets '
    + 'of a host port; link: wavelets came late because the other one held them up on their way, as a taker of the same stream does, or others had the link.';
  byId('waits-graph').append(waitsGraph());
  byId('waits-table').append(table(stats.waits, [
    {title: 'Kernel', value: w => w.kernel, cell: w => make('b', {}, w.kernel)},
    {title: 'Waits for', value: w => w.for, cell: w => w.for},
    {title: 'Cause', value: w => w.cause, cell: w => w.cause},
    {title: 'PE cycles', num: true, value: w => w.cycles},
  ], 3));
}
