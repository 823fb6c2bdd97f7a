// The README's tables.

import type { Bill } from './bill.ts'

export type Plan = 'flex' | 'consumption'
export const waves = ['idle', 'approved', 'undecided'] as const
export type Wave = (typeof waves)[number]

export interface Row {
  vms: number
  plan: Plan
  wave: Wave
  heartbeatMinutes: number
  bill: Bill
}

const planNames = { flex: 'Flex', consumption: 'old' } as const
const waveNames = { idle: 'idle', approved: 'wave', undecided: 'wave, undecided' } as const
const parts: [keyof Bill, string][] = [
  ['time', 'execution time'],
  ['executions', 'executions'],
  ['storage', 'storage operations'],
  ['logs', 'logs'],
  ['rest', 'rest'],
  ['total', '**total**'],
]

export function costTable(rows: Row[]): string {
  const head = ['plan', 'VMs', '', ...parts.map(([, name]) => name)]
  const lines = rows.map(({ plan, vms, wave, bill }) => {
    const figures = parts.map(([part]) => usd(bill[part], part === 'total'))
    return [planNames[plan], count(vms), waveNames[wave], ...figures]
  })
  return table(head, lines)
}

export function heartbeatTable(rows: Row[]): string {
  const minutes = [...new Set(rows.map((row) => row.heartbeatMinutes))]
  const head = ['plan', 'VMs', ...minutes.map((n) => `${n} min`)]
  const keys = [...new Set(rows.map(({ plan, vms }) => `${plan} ${vms}`))]
  const lines = keys.map((key) => {
    const own = rows.filter(({ plan, vms }) => `${plan} ${vms}` === key)
    const { plan, vms } = own[0]!
    return [planNames[plan], count(vms), ...own.map(({ bill }) => usd(bill.total))]
  })
  return table(head, lines)
}

function table(head: string[], lines: string[][]): string {
  const rule = head.map(() => '---')
  return [head, rule, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function usd(value: number, bold = false): string {
  const text = value >= 100 ? count(Math.round(value)) : value.toFixed(2)
  return bold ? `**${text}**` : text
}

/** With a narrow gap between thousands, as everywhere in the README. */
function count(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ' ')
}
