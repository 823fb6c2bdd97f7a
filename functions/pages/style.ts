// The style of all pages: one column for a phone, light and dark, contrast AA everywhere, no target
// smaller than 44 px. Each page contains it, and the page's policy contains its hash.
export const style = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --ground: #f6f8fa; --card: #fff;
  --line: #d0d7de; --go: #0550ae; --stay: #f6f8fa; --edge: #6e7781; --link: #0550ae;
  --ask: #9a6700; --ask-ground: #fff8c5; --wait: #0550ae; --wait-ground: #ddf4ff;
  --bad: #cf222e; --bad-ground: #ffebe9; --good: #1a7f37; --good-ground: #dafbe1;
  --over: #57606a; --over-ground: #eaeef2 }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa4af; --ground: #0d1117;
  --card: #161b22; --line: #30363d; --go: #1f6feb; --stay: #21262d; --edge: #848d97; --link: #79c0ff;
  --ask: #d29922; --ask-ground: #2b2311; --wait: #58a6ff; --wait-ground: #10233d;
  --bad: #ff7b72; --bad-ground: #351a1c; --good: #3fb950; --good-ground: #10281a;
  --over: #848d97; --over-ground: #21262d } }
* { box-sizing: border-box }
[hidden] { display: none !important }
/* the script keeps the reader's place */
html { overflow-anchor: none }
body { margin: 0 auto; max-width: 42rem; padding: 1rem 1rem 3rem; background: var(--ground);
  color: var(--ink); font: 1.0625rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
header { color: var(--soft); font-weight: 600; letter-spacing: .02em; display: flex; gap: .5rem;
  align-items: center; min-height: 2rem }
.horn { width: 1.25rem; height: 1.25rem; fill: currentColor; stroke: currentColor; stroke-width: 2 }
button.link { display: inline; width: auto; min-height: 2.75rem; padding: 0; border: 0; background: none; color: var(--link);
  font-weight: 400; font-size: .875rem; text-decoration: underline; text-underline-offset: .2em }
h1 { font-size: 1.625rem; line-height: 1.2; margin: .5rem 0 .25rem; text-wrap: balance }
h2 { font-size: 1.125rem; line-height: 1.3; margin: 1.75rem 0 .5rem }
.lead { color: var(--soft); margin: 0 0 1rem }
.fleet { margin: 0 }
.chip { display: inline-block; background: var(--over-ground); border-radius: .25rem; padding: 0 .375rem;
  color: var(--ink); font-size: .875rem; margin-right: .25rem }
.drill { border: 2px dashed var(--edge); border-radius: .5rem; padding: .5rem 1rem; font-weight: 600 }
.said { font-weight: 600; border: 2px solid var(--tone, var(--link)); border-radius: .5rem; padding: .625rem 1rem;
  margin: 1rem 0; background: var(--card) }
.state { border-radius: .5rem; padding: .875rem 1rem; margin: 1rem 0; border: 1px solid var(--tone);
  border-left-width: .375rem; background: var(--tone-ground) }
.state p { margin: 0 }
.ask { --tone: var(--ask); --tone-ground: var(--ask-ground) }
.wait { --tone: var(--wait); --tone-ground: var(--wait-ground) }
.bad { --tone: var(--bad); --tone-ground: var(--bad-ground) }
.good { --tone: var(--good); --tone-ground: var(--good-ground) }
.over { --tone: var(--over); --tone-ground: var(--over-ground) }
.state .left { display: flex; flex-wrap: wrap; gap: 0 .5rem; align-items: baseline; margin-bottom: .375rem }
.left b { font-size: 1.875rem; line-height: 1.2; font-variant-numeric: tabular-nums }
.lines { white-space: pre-line }
.first { font-weight: 700 }
.headline { font-weight: 700; font-size: 1.1875rem }
form { margin: 1rem 0 }
button, .button { display: block; width: 100%; min-height: 3.25rem; font: inherit; font-weight: 600;
  padding: .75rem 1rem; border-radius: .5rem; cursor: pointer; border: 1px solid var(--edge);
  background: var(--stay); color: var(--ink); text-align: center; text-decoration: none;
  touch-action: manipulation }
button.go, .button { background: var(--go); border-color: var(--go); color: #fff }
button.quiet, .button.quiet { background: none; border-color: var(--edge); color: var(--ink); font-weight: 400 }
button.risky, .button.risky { background: var(--card); border: 2px solid var(--bad); color: var(--bad) }
button:hover, .button:hover { filter: brightness(1.08) }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px }
.hint { color: var(--soft); font-size: .9375rem; line-height: 1.4; margin: .375rem 0 1.25rem }
.unready { font-weight: 600; margin: 0 0 .625rem }
.refusal, .moved { background: var(--card); border: 1px solid var(--edge); border-radius: .5rem;
  padding: .875rem 1rem; margin: 1rem 0 }
.refusal h2 { margin: 0 }
.moved { border: 2px solid var(--ask); font-weight: 600 }
a { color: var(--link) }
p > a { display: inline-block; padding: .625rem 0 }
.lost { position: sticky; top: 0; z-index: 1; margin: -1rem -1rem 1rem; padding: .625rem 1rem;
  background: var(--bad-ground); color: var(--ink); border-bottom: 2px solid var(--bad); text-align: center }
.t { display: inline-block; max-width: 100% } .nb { white-space: nowrap }
.id { font-size: .8125rem }
.away { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
.waiting { position: fixed; left: 0; right: 0; bottom: 0; z-index: 2; padding: .5rem 1.25rem; text-align: center;
  background: var(--wait-ground); color: var(--ink); border-top: 2px solid var(--wait) }
.waiting button { display: inline-block; width: auto; min-height: 2.75rem; margin-left: .75rem; padding: .375rem .875rem }
form[aria-busy] { opacity: .6 }
.after summary { list-style: none; display: flex; align-items: center; justify-content: center }
.after summary::-webkit-details-marker { display: none }
.after > div { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; margin-top: .5rem; background: var(--card) }
.after .hint { margin: 0 0 .75rem }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .5rem 1rem; margin: 0;
  background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .875rem 1rem }
dt { color: var(--soft) }
dd { margin: 0 }
summary { min-height: 2.75rem; padding: .5rem 0; cursor: pointer }
.timeline { list-style: none; margin: 0; padding: 0 0 0 1rem; border-left: 2px solid var(--line) }
.timeline li { margin: 0 0 .75rem }
.timeline time { display: block; color: var(--soft); font-size: .875rem; font-variant-numeric: tabular-nums }
.item { background: var(--card); border: 1px solid var(--line); border-radius: .75rem;
  padding: .75rem .875rem 0; margin: .75rem 0; scroll-margin-top: 1rem }
.item h2 { margin: 0 0 .125rem }
.item small { color: var(--soft); font-weight: 400 }
.item .lead { font-size: .9375rem; line-height: 1.35; margin: 0 0 .5rem }
.item .state, .item .said { padding: .5rem .75rem; margin: .5rem 0; font-size: 1rem; line-height: 1.4 }
.item .state .left { margin: 0 }
.item .left b, .item .headline { font-size: 1.0625rem }
.item form { margin: .5rem 0 0 }
.item button { min-height: 2.75rem; padding: .5rem 1rem }
.item .hint { margin: .25rem 0 .625rem; font-size: .875rem }
.item .refusal { padding: .5rem .75rem; margin: .5rem 0; font-size: .9375rem }
.item .refusal h2 { font-size: 1rem }
.item .refusal p { margin: .25rem 0 }
.item > p { margin: 0 0 .25rem }
label { display: block; margin: .5rem 0 }
.steps { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: .5rem 0 0; padding: 0; color: var(--soft) }
.steps .done { color: var(--ink); font-weight: 600 }
.taken { font-weight: 600; margin: .25rem 0 0 }
.further a { display: inline-block; padding: .625rem .75rem .625rem 0 }
.take { background: none; border: 0; color: var(--link); text-decoration: underline; text-underline-offset: .2em; font-weight: 400; min-height: 2.75rem; padding: .5rem 1rem } .reason summary { color: var(--link); text-decoration: underline; text-underline-offset: .2em; display: inline-block } .reason .why { margin: 0 0 .75rem }
.after + .take { margin-top: .5rem }
.why { color: var(--soft); font-size: .9375rem }
.why input { display: block; width: 100%; min-height: 2.75rem; font: inherit; padding: .5rem .75rem; margin-top: .25rem;
  border-radius: .5rem; border: 1px solid var(--edge); background: var(--card); color: var(--ink) }
input[type=password] { display: block; width: 100%; font: inherit; padding: .75rem 1rem;
  margin-bottom: .75rem; border-radius: .5rem; border: 1px solid var(--edge);
  background: var(--card); color: var(--ink) }
.record { list-style: none; padding: 0; margin: .5rem 0 }
.record li { margin: .5rem 0; padding: .5rem 0; border-top: 1px solid var(--line) }
.record a { display: inline-block; padding: .625rem 0; font-weight: 600 }
.record .hint { margin: 0 }
.record time { color: var(--soft); font-variant-numeric: tabular-nums }
.badge { display: inline-block; border: 1px solid var(--tone); background: var(--tone-ground); border-radius: 1rem;
  padding: 0 .625rem; font-size: .875rem; font-weight: 600; margin-right: .25rem }
h3 { font-size: .9375rem; color: var(--soft); margin: 1rem 0 0 }
nav a, nav strong { display: inline-block; padding: .625rem .75rem .625rem 0 }
@media (max-width: 26rem) { dl { grid-template-columns: 1fr; gap: 0 } dd { margin-bottom: .625rem }
  .id { font-size: .75rem } }
@media (forced-colors: active) { .state { border-left-width: 1px } }
@page { margin: 12mm }
@media print { :root { color-scheme: light; --ink: #000; --soft: #333; --ground: #fff; font-size: 70% }
  body { max-width: none; padding: 0 }
  form, nav, button, .button, .lost, .waiting, .moved, .hint { display: none !important }
  .item, .state, .refusal, dl, li, tr { break-inside: avoid }
  h1, h2, h3 { break-after: avoid }
  a { color: inherit; text-decoration: none }
  main[data-at]::before { content: 'As of ' attr(data-at); display: block; color: var(--soft) } }
`
