// The default: the engine inlined as text, decoded and compiled by the first `open()`.

import { text, unpacker } from "alkstore:engine-text"
import { decodeEngine } from "../engine-text.js"
import { setSource } from "../load.js"

setSource(() => decodeEngine(text, unpacker))

export * from "./api.js"
