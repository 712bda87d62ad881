'use strict';
const $ = id => document.getElementById(id), count = n => n.toLocaleString(undefined, { maximumFractionDigits: n < 10 ? 1 : 0 });
const time = ns => ns < 1e6 ? count(ns / 1e3) + ' µs' : ns < 1e9 ? count(ns / 1e6) + ' ms' : count(ns / 1e9) + ' s';
const octets = n => { let i = 0; for (; n >= 1024 && i < 4; i++) n /= 1024; return count(n) + ' ' + ['octets', 'KiB', 'MiB', 'GiB', 'TiB'][i]; };
const part = n => count(n * 100) + ' %';
const span = s => s < 120 ? count(s) + ' s' : s < 3600 ? count(Math.floor(s / 60)) + ' min' : s < 172800 ? count(Math.floor(s / 3600)) + ' h' : count(Math.floor(s / 86400)) + ' days';
const row = [['rps', 'requests/s', count], ['e4', '4xx/s', count], ['e5', '5xx/s', count], ['p50', 'p50', time], ['p95', 'p95', time],
             ['p99', 'p99', time], ['full', 'fullness', part]];
const past = [];
function make(parent, name, text) { const e = document.createElement(name); e.textContent = text; parent.append(e); return e; }
function list(id, pairs) {
  const dl = $(id); dl.replaceChildren();
  if (!pairs.length) make(dl, 'dt', 'none');
  for (const [name, value] of pairs) { make(dl, 'dt', name); make(dl, 'dd', value); }
}
for (const [key, name] of row) {
  const card = make($('row'), 'div', ''); card.id = key;
  make(card, 'small', name); make(card, 'b', '–'); make(card, 'small', '');
}
function draw(rps) {
  past.push(rps); if (past.length > 120) past.shift();
  const top = Math.max(1, ...past);
  $('line').setAttribute('points', past.map((n, i) => (120 - past.length + i) + ',' + (39 - 38 * n / top)).join(' '));
}
function show(s) {
  for (const [key, , text] of row) {
    const [, value, peak] = $(key).children;
    value.textContent = text(s[key]); peak.textContent = 'peak ' + text(s.peak[key]);
  }
  $('e5').className = s.e5 > 0 ? 'bad' : ''; $('full').className = s.full > 0.8 ? 'bad' : '';
  draw(s.rps);
  list('connections', Object.entries(s.connections).map(([name, n]) => [name, count(n)]));
  list('responses', ['no response', '1xx', '2xx', '3xx', '4xx', '5xx'].map((name, i) => [name, count(s.responses[i])]));
  list('content', [['sent', octets(s.sent)], ['received', octets(s.received)], ['memory', octets(s.memory) + ' of ' + octets(s.memory_max)]]);
  for (const [id, text] of [['asked', count], ['missed', count], ['limited', count], ['slow', time], ['big', octets]])
    list(id, s.tops[id].map(([name, n]) => [name, text(n)]));
  list('certificates', s.certificates.map(([names, file, left]) => [names == '*' ? file : names, left < 0 ? 'expired' : span(left)]));
  for (const [i, [, , left]] of s.certificates.entries()) if (left < 14 * 86400) $('certificates').children[2 * i + 1].className = 'bad';
  const c = s.configuration;
  list('configuration', [['in use for', span(c.age)], ['last reload', c.tried < 0 ? 'none' : span(c.tried) + ' ago'], ['reloads', count(c.accepted)], ['refused', count(c.refused)]]);
  $('fault').textContent = c.fault && 'The last reload was refused: ' + c.fault;
  list('files', Object.entries(s.files).map(([name, n]) => [name, count(n)]));
  list('limits', Object.entries(s.limits).map(([name, n]) => [name, count(n)]));
  $('state').textContent = 'version ' + s.version + ', up ' + span(s.uptime);
}
const live = new EventSource('/live');
live.onmessage = e => show(JSON.parse(e.data));
live.onerror = () => { $('state').textContent = 'the server does not answer; trying again'; };
