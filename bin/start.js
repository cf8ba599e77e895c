'use strict'

// Runs cli/main.ts on this Node, which is 24 or newer. Stripping the types of the sources and
// compiling them is most of what a short command costs, so both are remembered between runs: in
// ~/.cache/quarry, where nobody else can put anything, or where NODE_COMPILE_CACHE says.
// NODE_DISABLE_COMPILE_CACHE=1 turns it off; a directory that cannot be made costs time alone.

const fs = require('node:fs')
const { enableCompileCache } = require('node:module')
const os = require('node:os')
const path = require('node:path')
const { pathToFileURL } = require('node:url')

const main = path.resolve(__dirname, '..', 'cli', 'main.ts')

function startCache() {
  const { NODE_COMPILE_CACHE, XDG_CACHE_HOME } = process.env
  if (NODE_COMPILE_CACHE) return // Node itself has started it
  const caches = XDG_CACHE_HOME || cachesAtHome()
  if (caches === undefined) return
  const own = path.join(caches, 'quarry')
  // Made here, one by one: Node would make it with all above it, which never ends below /proc.
  if (!isMade(caches) || !isMade(own)) return
  enableCompileCache(own)
  // Threads and child processes have the cache by this name alone. Without it, the first query after a
  // start waits while its worker compiles.
  process.env.NODE_COMPILE_CACHE = own
}

/** Undefined for a user without a home, such as a number that only a container knows. */
function cachesAtHome() {
  try {
    return path.join(os.homedir(), '.cache')
  } catch {
    return undefined
  }
}

function isMade(directory) {
  try {
    if (!fs.existsSync(directory)) fs.mkdirSync(directory, { mode: 0o700 })
    return true
  } catch (error) {
    return error.code === 'EEXIST' // by another process, a moment ago
  }
}

startCache()
process.argv[1] = main
void import(pathToFileURL(main).href)
