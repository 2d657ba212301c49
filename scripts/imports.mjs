// Gives the engine's imports few signatures. V8 makes a wrapper for every signature among a module's imports before the
// first call, until 2024 with its optimising compiler, for 0.1 ms each. So an import goes by one of a few shared
// signatures where it can, through a function that puts its arguments in their places there.

/** A place that is no argument's is null, or zero. */
const SHARED = [
  { params: ["externref", "f64", "f64", "externref", "externref", "externref"], result: "externref" },
  { params: ["externref", "f64", "externref"], result: "f64" }
]

/**
 * The module `bytes` with its imports changed, and for each one that was, by its name: which of its arguments is at each
 * place, `null` where none is.
 */
export async function shareSignatures(bytes) {
  const { default: binaryen } = await import("binaryen")
  const module = binaryen.readBinary(bytes)
  const places = new Map()
  for (const imported of importsOf(binaryen, module)) {
    const shared = SHARED.map((each) => ({ ...each, places: placesIn(each, imported) })).find((each) => each.places !== null)
    if (shared === undefined || isSame(shared, imported)) continue
    replace(binaryen, module, imported, shared)
    places.set(imported.base, shared.places)
  }
  const changed = module.emitBinary()
  module.dispose()
  // Read again: a reference to a function has another type if it is no import any more.
  const read = binaryen.readBinary(changed)
  if (!read.validate()) throw new Error("the engine is no valid module once its imports share signatures")
  read.dispose()
  return { bytes: changed, places }
}

function importsOf(binaryen, module) {
  const names = new Map(["externref", "f64", "i32", "i64"].map((name) => [binaryen[name], name]))
  return Array.from({ length: module.getNumFunctions() }, (_, at) => binaryen.getFunctionInfo(module.getFunctionByIndex(at)))
    .filter(({ base }) => base !== "")
    .map(({ name, module, base, params, results }) => {
      return { name, module, base, params: binaryen.expandType(params).map((type) => names.get(type)), result: names.get(results) }
    })
}

// Each argument's is the first that is free; an integer may go as a double.
function placesIn({ params, result }, imported) {
  if (imported.result !== undefined && !isCarriedBy(imported.result, result)) return null
  const places = params.map(() => null)
  for (const [index, type] of imported.params.entries()) {
    const at = params.findIndex((to, at) => places[at] === null && isCarriedBy(type, to))
    if (at < 0) return null
    places[at] = index
  }
  return places
}

const isCarriedBy = (type, to) => type === to || (type === "i32" && to === "f64")

const isSame = ({ params, result }, imported) => result === imported.result && String(params) === String(imported.params)

function replace(binaryen, module, { name, module: from, base, params, result }, shared) {
  const types = (names) => binaryen.createType(names.map((name) => binaryen[name]))
  const given = shared.params.map((type, at) => {
    const index = shared.places[at]
    if (index === null) return type === "externref" ? module.ref.null(binaryen.externref) : module[type].const(0)
    const argument = module.local.get(index, binaryen[params[index]])
    return params[index] === type ? argument : module.f64.convert_s.i32(argument)
  })
  const target = `${name} shared`
  const call = module.call(target, given, binaryen[shared.result])
  // As JavaScript's numbers become integers, modulo 2^32: an address above 2 GB stays what it is.
  const integer = () => module.i32.wrap(module.i64.trunc_s_sat.f64(call))
  const body = result === undefined ? module.drop(call) : result === shared.result ? call : integer()
  module.removeFunction(name)
  module.addFunctionImport(target, from, base, types(shared.params), binaryen[shared.result])
  module.addFunction(name, types(params), binaryen[result ?? "none"], [], body)
}
