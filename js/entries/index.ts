// The default: the engine inlined as text, decoded and compiled by the first `open()`.

import engine from "alkstore:engine-text"
import { decodeEngine } from "../engine-text.js"
import { setSource } from "../load.js"

setSource(() => decodeEngine(engine))

export * from "./api.js"
