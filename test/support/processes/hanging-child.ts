// A process that watches its event loop, and then blocks it without end or ends in order.
// Arguments: how long it may hang in milliseconds, and `hang` or `end`.

import { systemClock } from '../../../lib/clock.ts'
import { silentLog } from '../../../lib/log.ts'
import { LoopWatch } from '../../../lib/loop-watch.ts'
import { guardLoop } from '../../../lib/process/hang-guard.ts'

const [, , hangMs, way] = process.argv
const names = ['listTables', 'queryTable']
const watch = new LoopWatch({ names, clock: systemClock, log: silentLog, cpuMs: () => 0 })
const stopWatching = watch.start()
const stopGuarding = guardLoop(watch, Number(hangMs))
watch.enter(2)
await systemClock.sleep(100)
if (way === 'hang') for (;;) watch.resume(2)
await stopGuarding()
await stopWatching()
