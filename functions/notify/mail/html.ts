// How a mail looks: one column of tables and inline styles, as mail programs keep those. Texts are escaped here.
import type { Tone } from '../../core/message/shape.ts'

export interface Link {
  label: string
  url: string
}

/** One event, or a message about Foghorn itself. Its texts have no links in them. */
export interface Block {
  tone: Tone
  sign: string
  /** Shown as a chip. Empty: none. */
  fleet: string
  heading: string
  /** What is new, or what happens if nobody acts. */
  first: string[]
  lines: string[]
  /** The way to its page. */
  page?: Link & { isAsking: boolean }
  facts: [name: string, value: string][]
  links: Link[]
  reference: string
}

interface Page {
  title: string
  /** What a list of mails shows beside the subject. */
  preheader: string
  /** Before all blocks. */
  all?: Link & { isAsking: boolean }
  groups: { heading: string; blocks: Block[] }[]
}

const tones: Record<Tone, string> = {
  info: '#0550ae',
  warning: '#9a6700',
  danger: '#cf222e',
  good: '#1a7f37',
}
const font = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"

/** For programs that know them: the colours of a dark theme. */
const style = `
:root { color-scheme: light dark; supported-color-schemes: light dark }
@media (prefers-color-scheme: dark) {
  .ground { background: #0d1117 !important }
  .card { background: #161b22 !important; color: #e6edf3 !important }
  .soft { color: #9aa4af !important }
  .chip { background: #21262d !important; color: #e6edf3 !important }
  .link { color: #79c0ff !important }
  .look { border-color: #848d97 !important }
  .look a { color: #e6edf3 !important }
}
@media (max-width: 480px) { .card { padding: 16px !important } }`

export function layOut({ title, preheader, all, groups }: Page): string {
  const isList = groups.length > 1 || groups.some(({ blocks }) => blocks.length > 1)
  const rows = groups.flatMap(({ heading, blocks }) => [
    ...(groups.length > 1
      ? [
          `<tr><td class="soft" style="padding:16px 0 4px;${font};font-size:15px;font-weight:600;color:#57606a">${escapeHtml(heading)}</td></tr>`,
        ]
      : []),
    ...blocks.map((block) => composeCard(block, isList)),
  ])
  const first =
    all === undefined ? [] : [`<tr><td style="padding:12px 0 4px">${buttonTo(all)}</td></tr>`]
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"><title>${escapeHtml(title)}</title><style>${style}</style></head>
<body class="ground" style="margin:0;padding:0;background:#f6f8fa">
<div style="display:none;max-height:0;overflow:hidden">${escapeHtml(preheader)}</div>
<table role="presentation" class="ground" width="100%" cellpadding="0" cellspacing="0" style="background:#f6f8fa"><tr><td align="center" style="padding:8px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:600px">${[...first, ...rows].join('\n')}</table>
</td></tr></table></body></html>`
}

function composeCard(block: Block, isListed: boolean): string {
  const { tone, sign, fleet, heading, first, lines, page, facts, links, reference } = block
  const size = isListed ? 17 : 20
  const tag = isListed ? 'h2' : 'h1'
  const chip =
    fleet === ''
      ? ''
      : `<span class="chip" style="background:#eaeef2;color:#1b1f24;border-radius:4px;padding:1px 6px;font-size:14px">${escapeHtml(fleet)}</span>`
  const parts = [
    chip,
    `<${tag} style="margin:6px 0 8px;font-size:${size}px;line-height:1.3">${escapeHtml(`${sign} ${heading}`)}</${tag}>`,
    ...first.map((line) => `<p style="margin:0 0 10px"><b>${escapeHtml(line)}</b></p>`),
    page === undefined ? '' : buttonTo(page),
    ...lines.map((line) => `<p style="margin:0 0 8px">${escapeHtml(line)}</p>`),
    composeFacts(facts),
    ...links.map(
      ({ label, url }) =>
        `<p style="margin:0 0 4px"><a class="link" href="${escapeHtml(url)}" style="color:#0550ae">${escapeHtml(label)}</a></p>`,
    ),
    `<p class="soft" style="margin:10px 0 0;font-size:13px;color:#57606a">${escapeHtml(reference)}</p>`,
    page === undefined || isListed
      ? ''
      : `<p class="soft" style="margin:4px 0 0;font-size:12px;color:#57606a;word-break:break-all">${escapeHtml(page.url)}</p>`,
  ]
  return `<tr><td class="card" style="background:#ffffff;color:#1b1f24;border-top:4px solid ${tones[tone]};padding:18px 24px;${font};font-size:16px;line-height:1.45">${parts.filter(Boolean).join('\n')}</td></tr><tr><td style="height:8px;line-height:8px;font-size:0">&nbsp;</td></tr>`
}

function composeFacts(facts: Block['facts']): string {
  if (facts.length === 0) return ''
  const rows = facts.map(
    ([name, value]) =>
      `<tr><td class="soft" valign="top" style="padding:2px 12px 2px 0;color:#57606a;white-space:nowrap">${escapeHtml(name)}</td><td valign="top" style="padding:2px 0">${escapeHtml(value)}</td></tr>`,
  )
  return `<table role="presentation" cellpadding="0" cellspacing="0" style="margin:12px 0 8px;font-size:13px;line-height:1.4">${rows.join('')}</table>`
}

/** At least 44 px high, also where a program keeps only the attributes. */
function buttonTo({ label, url, isAsking }: Link & { isAsking: boolean }): string {
  const cell = isAsking
    ? `<td bgcolor="#0550ae" style="border-radius:8px">`
    : `<td class="look" style="border-radius:8px;border:1px solid #6e7781">`
  const color = isAsking ? '#ffffff' : '#1b1f24'
  const inside = `display:inline-block;padding:12px 24px;line-height:20px;${font};font-size:16px;font-weight:600;color:${color};text-decoration:none`
  return `<table role="presentation" cellpadding="0" cellspacing="0" style="margin:4px 0 14px"><tr>${cell}<a href="${escapeHtml(url)}" style="${inside}">${escapeHtml(label)}</a></td></tr></table>`
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
