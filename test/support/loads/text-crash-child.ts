// A process that does what a script says until it is killed: `text-crash-child.ts <directory> <seed>
// <steps>`. After each step it says how many batches it has applied.

import { writeSync } from 'node:fs'
import { openTiny, takeStep, TextScript } from './text-script.ts'

const [, , directory = '', seed, steps] = process.argv
const script = new TextScript({ seed: Number(seed), steps: Number(steps) })
const index = openTiny(directory)
const { checkpoint } = index
script.replay(index, checkpoint)
for (const step of script.steps) {
  if (step.kind === 'write' && step.batch.sequence <= checkpoint) continue
  takeStep(index, step)
  // Unbuffered: what was said before a kill has been heard.
  writeSync(1, step.kind === 'write' ? `${step.batch.sequence} ${index.checkpoint}\n` : '')
}
index.close()
