// Duration strings, exactly: digits, an optional decimal part and one of `ms s m h d`.

const FORM = /^(\d+)(?:\.(\d+))?(ms|s|m|h|d)$/
const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Whole milliseconds, at most 2^53−1; what is left below one is dropped. `NaN` for what is no duration string. */
export function parseDuration(text: string): number {
  const [, whole, fraction = "", unit] = FORM.exec(text) ?? []
  if (whole === undefined || unit === undefined) return Number.NaN
  const unitMs = UNIT_MS[unit] as number
  // From the right, dropping below a millisecond at every place: a nested floor is the floor of the whole.
  let below = 0
  for (let at = fraction.length - 1; at >= 0; at -= 1) below = Math.floor((Number(fraction[at]) * unitMs + below) / 10)
  return Math.min(Number(whole) * unitMs + below, Number.MAX_SAFE_INTEGER)
}
