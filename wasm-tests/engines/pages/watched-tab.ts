// A tab whose timers and transactions are watched.

import "../page/watched.js"
import "../page/globals.js"
