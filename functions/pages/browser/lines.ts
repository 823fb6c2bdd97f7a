// Which lines a screen on a wall shows now, if not all fit.

/** People need this long to read a screen. */
const turnMs = 15_000

/** `fits`: how many lines have room; at least one is shown. `shown` of `of` parts: the lines `from` to before `to`. */
export function linesInTurn(count: number, fits: number, now: number) {
  const each = Number.isFinite(fits) && fits > 0 ? fits : 1
  const of = Math.max(1, Math.ceil(count / each))
  const part = Math.floor(now / turnMs) % of
  return { shown: part + 1, of, from: part * each, to: (part + 1) * each }
}
