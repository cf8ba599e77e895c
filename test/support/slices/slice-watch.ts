// Loaded before a program (--import with `?folder=` behind its URL), in its processes and threads: notes
// how long each turn of the event loop holds its thread (turn-watch.ts).
// Each thread writes a file of its own, a line for each turn that was long. A process that may write no files
// prints the name of its file and the line on standard error, behind "slice-watch".

import { appendFileSync, writeFileSync, writeSync } from 'node:fs'
import path from 'node:path'
import { isMainThread, threadId } from 'node:worker_threads'
import { watchTurns } from './turn-watch.ts'

const NOTED_MS = 8

const folder = new URL(import.meta.url).searchParams.get('folder') ?? '.'
const role = process.argv.some((arg) => arg.includes('model-worker-entry'))
  ? 'worker'
  : isMainThread
    ? 'server'
    : 'thread'
const file = path.join(folder, `${role}-${process.pid}-${threadId}`)
/** Undefined in a process that may do everything. */
const mayWrite = process.permission?.has('fs.write', folder) ?? true
const STANDARD_ERROR = 2

function note(line: string): void {
  if (mayWrite) appendFileSync(file, line)
  else writeSync(STANDARD_ERROR, `slice-watch ${path.basename(file)} ${line}`)
}

if (mayWrite) writeFileSync(file, '')

watchTurns(NOTED_MS, ({ cpuMs, workMs }) => note(`${cpuMs.toFixed(1)} ${workMs.toFixed(1)}\n`))
