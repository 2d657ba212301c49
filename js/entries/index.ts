// The default: the engine inlined as text, decoded and compiled by the first `open()`.

import engine from "alkstore:engine-base64"
import { decodeBase64 } from "../base64.js"
import { setSource } from "../load.js"

setSource(() => decodeBase64(engine))

export * from "./api.js"
