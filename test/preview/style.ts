// How the preview looks: the channels' own colours, light and dark.

export const style = `
:root { color-scheme: light; --ink: #1d1c1d; --soft: #616061; --ground: #f4f5f7; --card: #fff;
  --line: #d9dbdf; --go: #007a5a; --bad: #c4314b; --warn: #b35c00; --note: #0b5cad }
:root[data-theme=dark] { color-scheme: dark; --ink: #e6e6e8; --soft: #a3a4a8; --ground: #131417;
  --card: #1d1f24; --line: #3a3d44; --go: #2b9d78; --bad: #f0697f; --warn: #f2a24a; --note: #6cb2f2 }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 110rem; padding: 1rem; background: var(--ground); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; overflow-wrap: anywhere }
header { display: flex; gap: 1rem; align-items: baseline; flex-wrap: wrap }
nav { display: flex; flex-wrap: wrap; gap: .25rem .75rem; font-size: 13px; margin: .5rem 0 1rem }
a { color: var(--note) }
section.scene { margin: 0 0 1.5rem; border-top: 1px solid var(--line); padding-top: .5rem }
h2 { font-size: 1.05rem; margin: .25rem 0 .5rem }
.kinds { display: grid; grid-template-columns: repeat(auto-fit, minmax(21rem, 1fr)); gap: .75rem }
.kind { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem;
  min-width: 0 }
.kind > h3 { margin: 0 0 .5rem; font-size: 11px; text-transform: uppercase; letter-spacing: .06em;
  color: var(--soft); font-weight: 600 }
h4 { margin: .25rem 0 .375rem; font-size: 1.05rem; line-height: 1.3 }
details + .caption { margin-top: .75rem; border-top: 1px dashed var(--line); padding-top: .5rem }
.caption { color: var(--soft); font-size: 12.5px; font-style: italic }
.context, details { color: var(--soft); font-size: 12.5px }
.tag { font-size: 11px; border: 1px solid var(--line); border-radius: .25rem; padding: 0 .3rem;
  color: var(--soft) }
.tag.trigger, .tag.critical, .tag.error { color: var(--bad); border-color: currentColor }
.tag.acknowledge, .tag.warning { color: var(--warn); border-color: currentColor }
.tag.resolve { color: var(--go); border-color: currentColor }
.section { display: flex; gap: .75rem; justify-content: space-between; align-items: start;
  margin: .375rem 0 }
.fields { display: grid; grid-template-columns: 1fr 1fr; gap: .375rem .75rem }
.buttons { display: flex; gap: .5rem; margin: .5rem 0; flex-wrap: wrap }
.button { border: 1px solid var(--line); border-radius: .3rem; padding: .2rem .75rem; font-weight: 600;
  color: var(--ink); text-decoration: none; white-space: nowrap; font-size: 14px }
.button.primary { background: var(--go); border-color: var(--go); color: #fff }
.fault { color: var(--bad); font-weight: 700 }
dl { display: grid; grid-template-columns: minmax(5.5rem, auto) 1fr; gap: .125rem .75rem; margin: .5rem 0 0;
  font-size: 14px }
dt { color: var(--soft) }
dd { margin: 0 }
pre { margin: 0; font-size: 11.5px; max-height: 22rem; overflow: auto; white-space: pre-wrap }
.buttons summary { list-style: none }
.dialog { border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .75rem; max-width: 22rem; margin-top: .5rem;
  color: var(--ink) }
.ac-adaptiveCard { padding: 0 !important }
`
