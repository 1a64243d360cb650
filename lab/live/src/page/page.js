'use strict';
// Draws the whole page for every event; all text is inserted as text, never as markup.
const at = (id) => document.getElementById(id);
const SVG = 'http://www.w3.org/2000/svg';

function make(tag, attributes, ...inside) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) node.setAttribute(name, value);
  node.append(...inside);
  return node;
}
function draw(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}
function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const none = (x) => x === null || x === undefined;
function figure(x, digits) {
  if (none(x)) return '–';
  const size = Math.abs(x);
  const fraction = digits ?? (size >= 100 || x === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
  return x.toLocaleString('en', { maximumFractionDigits: fraction });
}
// A figure and its unit stay on one line.
const millis = (x) => none(x) ? '–' : figure(x) + '\u00a0ms';
const percent = (x) => none(x) ? '–' : (x > 0 && x < 0.0001 ? '<0.01' : figure(x * 100, x < 0.1 ? 2 : 0)) + '\u00a0%';
const quantile = (q) => 'p' + +(q * 100).toFixed(6);
function bytes(x) {
  if (none(x)) return '–';
  const step = x >= 2 ** 30 ? [2 ** 30, 'GiB'] : x >= 2 ** 20 ? [2 ** 20, 'MiB'] : [2 ** 10, 'KiB'];
  return figure(x / step[0], x / step[0] >= 10 ? 0 : 1) + '\u00a0' + step[1];
}
function span(seconds) {
  const whole = Math.round(seconds);
  const two = (n) => String(n).padStart(2, '0');
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

function head(now) {
  say(at('title'), now.title);
  const run = now.turn ? [now.turn, now.run] : [now.run && `run ${now.run}`];
  say(at('run'), run.filter(Boolean).map((word) => `· ${word}`).join(' '));
  say(at('phase'), now.ended ? 'ended' : now.phase);
  say(at('about'), now.ended ? '' : now.about);
  at('done').value = now.ended ? 1 : now.done;
  const all = none(now.all_remaining_s) ? '' : `, ${span(now.all_remaining_s)} with the runs after it`;
  const left = none(now.remaining_s) || now.ended ? '' : ` · at most ${span(now.remaining_s)} left${all}`;
  say(at('clock'), `${figure(now.done * 100, 0)} % of the phase · ${span(now.elapsed_s)} under load${left}`);
  at('clock').hidden = !!now.ended;
  document.title = `${now.ended ? 'ended' : now.phase} · ${figure(now.rate)} ops/s · Barograph`;
}

function tiles(now) {
  const late = [['late', now.late], ['dropped', now.dropped], ['skipped', now.skipped]];
  const missed = late.filter(([, n]) => n > 0).map(([name, n]) => `${figure(n)} ${name}`).join(', ');
  const use = (subject) => now.uses.find((row) => row.subject === subject)?.cores;
  const list = [
    ['Load', figure(now.level), now.unit === 'users' ? `users, ${figure(now.users)} active` : `${now.unit}, ${figure(now.users)} users`],
    ['Throughput', figure(now.rate), 'operations/s'],
    ['Failed', percent(now.failed_share), 'of this phase', now.failed_share > 0.01],
    ['In flight', figure(now.in_flight), 'operations'],
    ['Start lag', millis(now.lag_p99_ms), missed || 'p99 of the driver', missed !== ''],
    ['Driver', figure(use('driver'), 2), `cores, busiest ${percent(now.busiest_worker)}`, now.busiest_worker > 0.8],
    ['Application', figure(use('app'), 2), 'cores'],
    ['Host', figure(use('host'), 2), 'cores busy'],
  ];
  const shown = list.filter(([name]) => name !== 'Application' || !none(use('app')));
  at('tiles').replaceChildren(...shown.map(([name, value, under, bad]) =>
    make('div', {}, make('dt', {}, name),
      make('dd', bad ? { class: 'bad' } : {}, value, make('small', {}, under)))));
}

// A table of heads and rows of cells; a cell is a text, a node, or [text, class].
function table(id, heads, rows) {
  const cell = (inside, i) => {
    const [what, name] = Array.isArray(inside) ? inside : [inside, ''];
    const style = [heads[i][1], name].filter(Boolean).join(' ');
    return make(i === 0 ? 'th' : 'td', { ...(style && { class: style }), ...(i === 0 && { scope: 'row' }) }, what);
  };
  const top = heads.map(([name, style]) => make('th', { scope: 'col', ...(style && { class: style }) }, name));
  at(id).replaceChildren(
    make('thead', {}, make('tr', {}, ...top)),
    make('tbody', {}, ...rows.map((row) => make('tr', {}, ...row.map(cell)))));
}

function meter(share) {
  if (none(share)) return '–';
  const bar = make('b', {});
  bar.style.width = `${Math.min(share, 1) * 100}%`;
  const name = share > 1 ? 'meter over' : 'meter';
  return make('div', { class: name }, make('i', { 'aria-hidden': 'true' }, bar),
    make('span', share > 1 ? { class: 'bad' } : {}, percent(share)));
}

function operations(now) {
  const limited = now.ops.some((op) => !none(op.limit_ms));
  const heads = [['operation'], ['per second', 'n'], ['p50', 'n'], ['judged', 'n'],
    ...(limited ? [['limit', 'n'], ['of its limit', 'n']] : []), ['p99, last interval', 'n'], ['failed', 'n']];
  const rows = now.ops.map((op) => {
    const name = make('span', op.about ? { title: op.about } : {}, op.name);
    const share = none(op.limit_ms) || none(op.judged_ms) ? null : op.judged_ms / op.limit_ms;
    const failed = op.count > 0 ? op.failed / op.count : 0;
    return [name, figure(op.rate), millis(op.p50_ms), `${quantile(op.quantile)} ${millis(op.judged_ms)}`,
      ...(limited ? [millis(op.limit_ms), meter(share)] : []), millis(op.latest_p99_ms),
      [op.failed > 0 ? `${figure(op.failed)} (${percent(failed)})` : '0', failed > 0.005 ? 'bad' : '']];
  });
  table('ops', heads, rows.length ? rows : [heads.map((_, i) => i ? '' : 'none has ended yet')]);
}

// Grid steps of 1, 2 or 5 times a power of ten, for about four lines.
function ticks(most) {
  const rough = most / 4 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999);
  const count = Math.max(1, Math.ceil(most / step - 1e-9));
  return Array.from({ length: count + 1 }, (_, i) => i * step);
}

// Curves over time. Each has a name, a class and its values; a missing value leaves a gap.
function curves(id, times, list, label) {
  const box = at(id);
  const [width, height, left, right, low] = [Math.max(box.clientWidth, 240), 170, 46, 52, 20];
  const all = list.flatMap((curve) => curve.values).filter((x) => !none(x));
  const marks = ticks(Math.max(...all, 0) || 1);
  const top = marks[marks.length - 1];
  const [from, to] = [times[0] ?? 0, times[times.length - 1] ?? 1];
  const x = (t) => left + (t - from) / Math.max(to - from, 1e-9) * (width - left - right);
  const y = (v) => 8 + (1 - v / top) * (height - 8 - low);
  const svg = draw('svg', { viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': label });
  for (const mark of marks) {
    svg.append(draw('line', { class: 'grid', x1: left, x2: width - right, y1: y(mark), y2: y(mark) }));
    svg.append(draw('text', { x: left - 6, y: y(mark) + 4, 'text-anchor': 'end' }, figure(mark)));
  }
  if (times.length > 0) {
    svg.append(draw('text', { x: left, y: height - 4 }, span(from)));
    svg.append(draw('text', { x: width - right, y: height - 4, 'text-anchor': 'end' }, span(to)));
  }
  const ends = [];
  for (const curve of list) {
    let path = '';
    let pen = 'M';
    curve.values.forEach((value, i) => {
      if (none(value)) { pen = 'M'; return; }
      path += `${pen}${x(times[i]).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = 'L';
    });
    svg.append(draw('path', { class: `curve ${curve.style}`, d: path }));
    const last = curve.values.findLast((value) => !none(value));
    if (!none(last)) ends.push([y(last) + 4, curve]);
  }
  // Names are at the ends of their curves, without overlap.
  ends.sort((a, b) => a[0] - b[0]);
  ends.forEach((end, i) => { if (i > 0) end[0] = Math.max(end[0], ends[i - 1][0] + 14); });
  for (const [where, curve] of ends) {
    svg.append(draw('text', { class: curve.style, x: width - right + 5, y: where }, curve.name));
  }
  box.replaceChildren(svg);
}

function charts(now) {
  const times = now.points.map((point) => point[0]);
  const column = (i) => now.points.map((point) => point[i]);
  const failed = column(2).some((x) => x > 0);
  curves('rate', times, [{ name: 'all', style: 'a', values: column(1) },
    ...(failed ? [{ name: 'failed', style: 'b', values: column(2) }] : [])],
  `Throughput, latest ${figure(now.rate)} operations per second`);
  const limited = now.ops.some((op) => !none(op.limit_ms));
  say(at('times-of'), `milliseconds, of each interval${limited ? ', operations with a limit' : ''}`);
  curves('times', times, [{ name: 'p99', style: 'a', values: column(4) }, { name: 'p50', style: 'b', values: column(3) }],
    `Response time, latest p99 ${millis(now.points.at(-1)?.[4])}`);
}

const MARKS = { pass: ['●', 'good'], fail: ['✕', 'bad'], invalid: ['○', 'soft'] };

function trials(now) {
  at('s-trials').hidden = now.trials.length === 0;
  if (now.trials.length === 0) return;
  const [pass, fail] = [now.highest_pass, now.lowest_fail];
  const bracket = [
    none(pass) ? '' : `highest that passed ${figure(pass)}`, none(fail) ? '' : `lowest that failed ${figure(fail)}`,
  ].filter(Boolean).join(', ');
  say(at('bracket'), bracket && `${bracket} ${now.unit}`);
  // Replaced by the answer, once there is one.
  at('sofar').hidden = none(now.so_far) || !none(now.verdict);
  say(at('sofar'), none(now.so_far) ? '' : now.so_far.words);
  levels(now);
  const rows = now.trials.toReversed().map((trial) => {
    const [mark, style] = MARKS[trial.result] ?? ['', ''];
    const closest = trial.closest;
    return [String(trial.n), trial.purpose, trial.load, [`${mark}\u00a0${trial.result}`, style],
      figure(trial.throughput), closest ? closest[0] : '–', meter(closest ? closest[1] : null)];
  });
  table('trials', [['trial'], ['for'], ['load', 'n'], ['result'], ['operations/s', 'n'], ['closest to its limit'],
    ['of its limit', 'n']], rows);
}

// Shaded part of the line of levels: the 95 % interval of the capacity, or the range between the highest pass and the
// lowest failure. An interval that is open above extends to the end of the line.
function shaded(now, top) {
  if (!none(now.so_far?.low)) return [Math.min(now.so_far.low, top), Math.min(now.so_far.high ?? top, top)];
  const both = !none(now.highest_pass) && !none(now.lowest_fail) && now.lowest_fail > now.highest_pass;
  return both ? [now.highest_pass, now.lowest_fail] : null;
}

// Every trial on a line of levels.
function levels(now) {
  const box = at('levels');
  const [width, height, side] = [Math.max(box.clientWidth, 240), 58, 12];
  const marks = ticks(Math.max(...now.trials.map((trial) => trial.level)) || 1);
  const top = marks[marks.length - 1];
  const x = (level) => side + level / top * (width - 2 * side - 40);
  const label = `Levels tried, ${at('bracket').textContent}`;
  const svg = draw('svg', { viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': label });
  const shade = shaded(now, top);
  if (shade) {
    const [from, to] = shade.map(x);
    svg.append(draw('rect', { x: from, y: 8, width: Math.max(to - from, 1), height: 24, fill: 'var(--fill)' }));
  }
  svg.append(draw('line', { class: 'grid', x1: x(0), x2: x(top), y1: 36, y2: 36 }));
  for (const mark of marks) {
    svg.append(draw('text', { x: x(mark), y: 52, 'text-anchor': mark === 0 ? 'start' : 'middle' }, figure(mark)));
  }
  for (const trial of now.trials) {
    const [cx, cy] = [x(trial.level), 20];
    const shape = trial.result === 'fail'
      ? draw('path', { class: 'mark fail', d: `M${cx - 5} ${cy - 5}L${cx + 5} ${cy + 5}M${cx - 5} ${cy + 5}L${cx + 5} ${cy - 5}` })
      : draw('circle', { class: `mark ${trial.result}`, cx, cy, r: 5 });
    shape.append(draw('title', {}, `trial ${trial.n}: ${trial.load} ${trial.result}`));
    svg.append(shape);
  }
  box.replaceChildren(svg);
}

function uses(now) {
  at('s-uses').hidden = now.uses.length === 0;
  const rows = now.uses.map((row) => [row.subject, figure(row.cores, 2), bytes(row.memory_bytes),
    none(row.received_bytes_per_s) ? '–' : `${bytes(row.received_bytes_per_s)}/s`,
    none(row.sent_bytes_per_s) ? '–' : `${bytes(row.sent_bytes_per_s)}/s`,
    none(row.written_bytes_per_s) ? '–' : `${bytes(row.written_bytes_per_s)}/s`,
    none(row.cpu_pressure_percent) ? '–' : `${figure(row.cpu_pressure_percent, 0)} %`]);
  table('uses', [['whose'], ['cores', 'n'], ['memory', 'n'], ['received', 'n'], ['sent', 'n'], ['written', 'n'],
    ['CPU pressure', 'n']], rows);
}

function parts(now) {
  at('s-parts').hidden = now.parts.length === 0;
  say(at('platform'), now.platform && `on ${now.platform}`);
  const rows = now.parts.map((part) => [part.name, part.tier, `${part.service} ${part.version}`, part.host, part.uses,
    `${figure(part.start_s)} s`]);
  table('parts', [['part'], ['tier'], ['what'], ['host'], ['uses'], ['started in', 'n']], rows);
}

function lines(now) {
  const list = at('lines');
  const before = [...list.children].map((item) => item.textContent);
  if (before.length === now.lines.length && before.every((line, i) => line === now.lines[i])) return;
  const isAtEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 4;
  list.replaceChildren(...now.lines.map((line) => make('li', {}, line)));
  if (isAtEnd) list.scrollTop = list.scrollHeight;
}

function end(now) {
  at('ended').hidden = !now.ended;
  if (!now.ended) return;
  // Of several runs, the answer is that of the last.
  const verdict = now.verdict && now.turn ? `${now.turn}: ${now.verdict}` : now.verdict;
  const words = [verdict, ...now.ended].filter(Boolean);
  at('ended').replaceChildren(...words.map((word) => make('p', {}, word)));
}

let latest = null;
function show(now) {
  latest = now;
  for (const part of [head, tiles, charts, operations, trials, uses, parts, lines, end]) part(now);
}

const news = new EventSource('events');
news.onopen = () => { at('link').hidden = true; };
news.onerror = () => {
  // The browser reconnects by itself, unless it was refused, until the run has ended.
  at('link').hidden = !!latest?.ended;
  if (news.readyState === EventSource.CLOSED) {
    say(at('link'), 'As many browsers follow this run as may. Close one of them and load this page again.');
  }
  if (latest?.ended) news.close();
};
news.onmessage = (message) => {
  at('link').hidden = true;
  show(JSON.parse(message.data));
  if (latest.ended) news.close();
};
addEventListener('resize', () => latest && show(latest));
