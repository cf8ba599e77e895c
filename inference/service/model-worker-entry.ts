// The entry of a worker, which is a process or a thread.

import { serveModels } from '../runtime/worker-host.ts'
import { openServedModel } from './open-served-model.ts'

serveModels(openServedModel)
