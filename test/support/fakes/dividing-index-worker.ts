// An index worker that divides searches however cheap they are. It ends or hangs when it answers the sealed
// part of another worker's index, if the search is for keys that begin with `end` or `hang`.

import { serveIndexes } from '../../../node/index/worker/serve-indexes.ts'
import { openTextFamily } from '../../../node/index/text/hosted/text-family.ts'
import { TextReader } from '../../../node/index/text/hosted/text-reader.ts'

const PREFIXES: Readonly<Record<string, () => unknown>> = {
  end: () => process.exit(3),
  hang: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
}

const sane = Reflect.get(TextReader.prototype, 'answer')
Reflect.set(
  TextReader.prototype,
  'answer',
  function (this: TextReader, ...given: Parameters<typeof sane>) {
    const [asked] = given
    const { conditions } = Object(asked.request)
    PREFIXES[Buffer.from(conditions?.keyPrefix ?? '').toString()]?.()
    return Reflect.apply(sane, this, given)
  },
)

serveIndexes({ text: (parts) => openTextFamily(parts, { dividedCostMin: 0 }) })
