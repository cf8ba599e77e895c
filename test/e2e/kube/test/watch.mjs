// @kubernetes/client-node against the cluster: create, list, watch, replace, delete.
import { once } from 'node:events'
import { CoreV1Api, KubeConfig, Watch } from '@kubernetes/client-node'

const LIMIT_MS = 15_000
const WANTED = ['ADDED one', 'MODIFIED one', 'DELETED one']

const config = new KubeConfig()
config.loadFromDefault()
const core = config.makeApiClient(CoreV1Api)
const namespace = process.argv[2]
const labels = { selftest: 'watch' }
const body = (value) => ({ metadata: { name: 'one', labels }, data: { a: value } })

/** @type {string[]} */
const seen = []
const finished = new AbortController()
const note = (type, object) => {
  seen.push(`${type} ${object.metadata.name}`)
  if (WANTED.every((event) => seen.includes(event))) finished.abort()
}
const watch = await new Watch(config).watch(
  `/api/v1/namespaces/${namespace}/configmaps`,
  { labelSelector: 'selftest=watch' },
  note,
  () => {},
)
const limit = setTimeout(() => {
  process.stderr.write(`saw only ${seen.join(', ')}\n`)
  process.exit(1)
}, LIMIT_MS)
const allSeen = once(finished.signal, 'abort')

await core.createNamespacedConfigMap({ namespace, body: body('1') })
const list = await core.listNamespacedConfigMap({ namespace, labelSelector: 'selftest=watch' })
if (list.items.length !== 1) throw new Error('the list lacks the config map')
await core.replaceNamespacedConfigMap({ name: 'one', namespace, body: body('2') })
await core.deleteNamespacedConfigMap({ name: 'one', namespace })
await allSeen
clearTimeout(limit)
watch.abort()
process.stdout.write(`${seen.join(', ')}\n`)
