import { MemoryKvStore } from '../../../../node/storage/memory-kv-store.ts'
import { describeKvStore } from '../../../conformance/kv-store.ts'

describeKvStore('MemoryKvStore', async () => new MemoryKvStore())
