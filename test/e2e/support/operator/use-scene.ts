import { must } from '../../../../lib/assert.ts'
import { useNamespace } from '../test-namespace.ts'
import { Scene } from './scene.ts'

const CLOSE_LIMIT_MS = 60_000

/** A scene for the tests of a `describe`, whose operator ends before its namespace is removed. */
export function useScene(file: string, options?: { readonly isStarted?: boolean }): () => Scene {
  let scene: Scene | undefined
  // Hooks run in this order: an operator would hold up the end of its namespace.
  after('end the operator', async function () {
    this.timeout(CLOSE_LIMIT_MS)
    await scene?.[Symbol.asyncDispose]()
  })
  const namespace = useNamespace('api', file)
  before('an operator', async function () {
    this.timeout(CLOSE_LIMIT_MS)
    scene = await Scene.open(namespace(), options)
  })
  return () => must(scene, 'a scene')
}
