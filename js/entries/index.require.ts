// The default entry as CommonJS, for `require`. Outside Node, or bundled away from its folder, it falls back to the
// text.

import { engineFile } from "../engine-file.js"
import { setSource } from "../load.js"

setSource(() => engineFile(() => __filename) ?? require("./engine-text.cjs").engine())

export * from "./api.js"
