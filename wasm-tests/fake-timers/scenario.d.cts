import type { open } from "alkstore-wasm"

interface Fakes {
  open: typeof open
  advance(ms: number): Promise<unknown>
}

export const facts: Record<string, (fakes: Fakes) => Promise<void>>
