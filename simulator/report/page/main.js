// Fills the page, section by section; sections without content disappear.
'use strict';

function card(label, value, note) {
  return make('div', {className: 'card'}, make('div', {className: 'label'}, label), make('div', {className: 'value'}, value),
    make('div', {className: 'note'}, note || ''));
}

function header() {
  byId('title').textContent = (stats.model || stats.program) + ' on ' + stats.machine;
  document.title = byId('title').textContent + ' – Wafersmith report';
  const chip = (label, value, kind) => make('span', {className: 'chip ' + (kind || '')}, label + ' ', make('b', {}, value));
  const chips = [chip('fabric', `${number(stats.fabric[0])} × ${number(stats.fabric[1])}`), chip('clock', number(stats.clock_mhz) + ' MHz')];
  if (stats.policy) chips.unshift(chip('autogen_policy', stats.policy));
  if (stats.dtype) chips.push(chip('dtype', stats.dtype));
  if (stats.iterations && stats.model) chips.push(chip('samples', number(stats.iterations)));
  if (stats.status.fault) chips.push(chip('fault', stats.status.fault, 'bad'));
  if (stats.check) chips.push(stats.check.ok ? chip('results', 'agree', 'ok') : chip('results', 'DIFFER', 'bad'));
  byId('chips').append(...chips);
  const g = byId('logo').getContext('2d');
  for (let y = 0; y < 4; ++y) for (let x = 0; x < 4; ++x) { g.fillStyle = viridis((x + y) / 6); g.fillRect(x * 11, y * 11, 10, 10); }
}

function summarySection() {
  const cards = [card('Cycles', short(stats.cycles), duration(stats.cycles) + (stats.iterations && stats.model ? ` for ${stats.iterations} sample${stats.iterations > 1 ? 's' : ''}` : ''))];
  if (stats.launched_cycles !== null && stats.launched_cycles > 0)
    cards.push(card('In launches', short(stats.launched_cycles), `${duration(stats.launched_cycles)} of ${stats.launches.length} launch${stats.launches.length > 1 ? 'es' : ''}`));
  if (stats.latency_cycles !== null) cards.push(card('Latency', short(stats.latency_cycles), duration(stats.latency_cycles) + ', first in to last out'));
  const unit = stats.curves ? 'step' : 'sample';
  if (stats.interval_cycles !== null) cards.push(card('Interval', number(stats.interval_cycles, 1), `cycles between ${unit}s`));
  if (stats.samples_per_second !== null) cards.push(card('Throughput', short(stats.samples_per_second), `${unit}s per second`));
  cards.push(card('PEs used', short(stats.pes_used), 'of ' + short(stats.fabric[0] * stats.fabric[1]) + ' simulated'));
  cards.push(card('Utilisation', number(100 * stats.utilisation, 2) + ' %', `of peak, ${short(stats.flops)} flops`));
  if (stats.efficiency !== null) cards.push(card('Efficiency', (100 * stats.efficiency).toPrecision(2) + ' %', `of the whole wafer: ${stats.roof_cycles.toPrecision(3)} cycles`));
  cards.push(card('Wavelet hops', short(stats.wavelet_hops), number(stats.wavelet_hops / Math.max(1, stats.cycles), 1) + ' per cycle'));
  cards.push(card('Memory', short(stats.memory_bytes_max), `bytes in the fullest PE, ${percent(stats.memory_bytes_max, stats.memory_bytes_have, 0)}`));
  if (stats.check) cards.push(card('Check', stats.check.ok ? 'ok' : 'differs', `error ${stats.check.max_rel.toExponential(1)}, tolerance ${stats.check.tolerance.toExponential(0)}`));
  cards.push(card('Simulated in', number(stats.simulator.wall_s, 2) + ' s', short(stats.simulator.cycles_per_s) + ' cycles per second'));
  byId('cards').append(...cards);
  const classes = stats.classes.filter(c => c.pe_cycles !== 0);
  if (classes.length > 0) {
    const error = c => c.mean_error_percent === null ? 'not measured' : number(c.mean_error_percent, 1) + ' %';
    byId('where').append(make('h3', {}, 'What these cycles consist of'),
      table(classes, [{title: 'Class', value: c => c.class, cell: c => c.class},
        {title: 'Share', num: true, value: c => c.share, cell: c => c.share === null ? 'some' : percent(c.share, 1)},
        {title: 'Error', num: true, value: c => c.mean_error_percent, cell: error, help: 'mean of our cycles of this class against those that others measured'}]));
    if (stats.expected_error_percent !== null)
      byId('where').append(make('p', {className: 'lead below'}, `Weighted by these shares, cycles like these are off by ${number(stats.expected_error_percent, 1)} %.`));
  }
  if (total(stats) > 0) byId('where').append(make('h3', {}, 'Where the cycles of the PEs used went'), stateBar(stats, false), stateLegend(stats));
}

function adviceSection() {
  byId('advice-lead').textContent = data.advice_note + ', with the same inputs and the same results.';
  for (const a of stats.advice)
    byId('advice-list').append(make('li', {}, make('b', {}, percent(a.gain, 1, 0) + ' fewer cycles'), ` ${a.figure === 'cycles' ? 'in all' : 'per sample'}: `
      + `${number(a.advised)} instead of ${number(a.this)}, on ${number(a.pes_used)} instead of ${number(stats.pes_used)} PEs`,
      make('pre', {}, a.command), make('div', {}, a.why)));
}

function show(id, node) {
  if (node) byId(id).append(node);
}

function drop(id) { byId(id).remove(); }

function kernelSection() {
  byId('kernel-lead').textContent = 'Cycles are those of one sample, from its first task (or the first wavelet it waits for) to its last task end. PE time is that of the whole run. '
    + (stats.copies > 1 ? `${stats.copies} copies of the network take the samples in turn; the kernels of the first one stand here. ` : '')
    + 'Counterpart: this kernel over the handwritten or primitive way, each simulated alone. ' + (data.baselines_note || '');
  show('kernel-table', kernelTable());
}

function main() {
  header();
  summarySection();
  if (data.insights.length === 0) drop('insights');
  for (const i of data.insights) byId('insight-list').append(make('li', {}, make('b', {}, i.title), make('div', {}, i.advice)));
  if (data.advice_note) adviceSection(); else drop('advice');
  if (stats.kernels.length === 0) drop('kernels'); else kernelSection();
  cslSections();
  if (stats.ops.length > 0) show('op-table', opTable()); else drop('ops');
  if (stats.set_by) criticalSection(); else drop('critical');
  if (stats.waits.length > 0) waitsSection(); else drop('waits');
  if (area) {
    byId('wafer-lead').textContent = data.maps.cell > 1 ? `One cell is ${data.maps.cell} × ${data.maps.cell} PEs and shows the largest of them.` : 'One cell is one PE. Hover for its values.';
    show('floorplan', floorplan());
    byId('heat').append(...data.maps.maps.filter(m => m.values.some(v => v > 0)).map(heatMap));
    show('map-table', mapTable());
  } else {
    drop('wafer');
  }
  if (stats.training) trainingSection(); else drop('training');
  const times = timelineSection();
  if (times.children.length > 0) show('time', times); else drop('timeline');
  if (stats.against.length > 0) { show('against-table', againstTable()); byId('against-lead').textContent = data.against_note; } else drop('against');
  byId('config').textContent = data.config;
  byId('nav').append(...[...document.querySelectorAll('section')].map(s => make('a', {href: '#' + s.id}, s.querySelector('h2').textContent)));
}
main();
