// `Symbol.asyncDispose`, where the runtime has one; else the name by which polyfills and compilers look for it.

export const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? (Symbol.for("Symbol.asyncDispose") as typeof Symbol.asyncDispose)
