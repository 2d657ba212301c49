// A place where a value gets in: an argument, an option, or what a callback of the caller's returns or throws.

import type { Kind } from "./kinds.js"
import type { World } from "./world.js"

export interface Site {
  /** `queue.enqueue(payload)` */
  readonly where: string
  /** What a message calls it. */
  readonly argument: string
  readonly kind: Kind
  /** Throws, where everything else rejects. */
  readonly sync: boolean
  /** Calls with the value. */
  readonly play: (world: World, value: unknown) => unknown
  /** What has become of the value, once the call was accepted. */
  readonly seen: (result: any, world: World, value: unknown) => unknown
  /** What is seen where it is absent. */
  readonly absent?: unknown
}

/** One argument of a call. */
export interface Argument {
  readonly name: string
  readonly kind: Kind
  /** Given where another argument is tried. */
  readonly good: unknown
  readonly seen: Site["seen"]
  readonly absent?: unknown
  /** Of an argument that is an object of options: each of them. */
  readonly options?: Readonly<Record<string, Argument>>
  /** Of one that is a list: what is in it. */
  readonly item?: Argument
}

/** A call: on what, and with what. */
export interface Call<P extends readonly unknown[] = readonly any[]> {
  readonly sync?: boolean
  /** Makes the call; `args` are as the table has them. */
  readonly call: (world: World, args: any[]) => unknown
  readonly args: { readonly [I in keyof P]: Argument }
}

/**
 * The calls of an interface. A method that is missing is a type error; so is an argument, unless the call was made by a
 * helper that knows no types: then the number of arguments is compared at run time.
 */
export type Calls<T> = {
  readonly [K in keyof T as T[K] extends (...args: never[]) => unknown ? K : never]: T[K] extends (
    ...args: infer P
  ) => unknown
    ? Call<Required<P>>
    : never
}

/** `good` is given where another argument is tried; without `absent` it cannot be left out. */
export function argument(
  name: string,
  kind: Kind,
  good: unknown,
  seen: Site["seen"] = () => ABSENT_RESULT,
  absent?: unknown,
): Argument {
  return { name, kind, good, seen, ...(absent !== undefined && { absent }) }
}

const ABSENT_RESULT = "nothing to see"

/** An object of options: every one of `O`. A missing one is a type error. */
export function bag<O extends object>(
  kind: Kind,
  options: { readonly [K in keyof Required<O>]: Argument },
  seen?: Site["seen"],
): Argument {
  return { ...argument("options", kind, undefined, seen ?? (() => "as without"), "as without"), options }
}

/** Every place of a call. */
export function sitesOf(where: string, { call, args, sync = false }: Call): Site[] {
  const goods = args.map(({ good }) => good)
  const at = (index: number, value: unknown): unknown[] => goods.map((good, each) => (each === index ? value : good))
  return args.flatMap((each, index) => {
    const site = (argument: Argument, path: string, wrap: (value: unknown) => unknown): Site => ({
      where: `${where}(${path})`,
      argument: argument.name,
      kind: argument.kind,
      sync,
      play: (world, value) => call(world, at(index, wrap(value))),
      seen: argument.seen,
      ...("absent" in argument && { absent: argument.absent }),
    })
    const options = Object.entries(each.options ?? {}).map(([key, option]) => {
      return site(option, `{ ${key} }`, (value) => ({ [key]: value }))
    })
    const items = each.item === undefined ? [] : [site(each.item, each.item.name, (value) => [value])]
    return [site(each, each.name, (value) => value), ...options, ...items]
  })
}
