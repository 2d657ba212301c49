// What the server told this page, and what it is told in return.

/** The settings in the page's address. */
export const settings = new URLSearchParams(location.search)

/** The setting `name`, which must be there. */
export function setting(name: string): string {
  const value = settings.get(name)
  if (value === null) throw new Error(`the page has no setting ${name}`)
  return value
}

/** Resolves when the server has `value`, which crosses as JSON. */
export async function report(value: Record<string, unknown>): Promise<void> {
  const address = `/report?run=${setting("run")}`
  const { ok, status } = await fetch(address, { method: "POST", body: JSON.stringify(value) })
  if (!ok) throw new Error(`the server answered a report with ${status}`)
}
