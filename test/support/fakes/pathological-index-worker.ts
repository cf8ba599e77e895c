// An index worker that hangs or ends at documents and searches that say so: documents by a member `hang`
// or `end`, searches by a field of that name. All else is the product's.

import { FieldMapping } from '../../../node/index/text/mapping/field-mapping.ts'

function suffer(name: string): void {
  if (name === 'hang') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  if (name === 'end') process.exit(3)
}

/** Calls `before` with the arguments of every call of the method. */
function precede(method: 'mapDocumentInSteps' | 'resolveField', before: Before): void {
  const sane: unknown = Reflect.get(FieldMapping.prototype, method)
  if (typeof sane !== 'function') throw new TypeError(`no ${method}`)
  Reflect.set(FieldMapping.prototype, method, function (this: unknown, ...given: unknown[]) {
    before(...given)
    return Reflect.apply(sane, this, given)
  })
}
type Before = (...given: readonly unknown[]) => void

precede('mapDocumentInSteps', (_key, document) => {
  for (const name of Object.keys(Object(document))) suffer(name)
})
precede('resolveField', (name) => suffer(String(name)))

await import('../../../node/index/kinds/index-worker.ts')
