// For tests that evaluate in a context: the package lies there as globals.

import * as alkstore from "alkstore-wasm"
import * as indexeddb from "alkstore-wasm/indexeddb"
import * as testing from "alkstore-wasm/testing"
import { fastClock } from "./fast-clock.js"

Object.assign(globalThis, { alkstore, indexeddb, testing, fastClock })
