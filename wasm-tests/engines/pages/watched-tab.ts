// A tab whose timers and transactions are watched.

import "../page/watched.js"
import "../page/globals.js"
import { macrotask as turn } from "../../../js/turn.js"
import { transactionsUnderWay } from "../../soak/database-watch.js"

Object.assign(globalThis, { turn, transactionsUnderWay })
