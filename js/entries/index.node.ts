// The default entry in Node, for `import`. Bundled away from its folder, or in an older Node, it falls back to the text.

import { engineFile } from "../engine-file.js"
import { setSource } from "../load.js"

setSource(() => engineFile(() => import.meta.url) ?? import("./engine-text.js").then(({ engine }) => engine()))

export * from "./api.js"
