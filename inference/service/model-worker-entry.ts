// What a worker of the inference server runs: a process or a thread of its own.

import { serveModels } from '../runtime/worker-host.ts'
import { openServedModel } from './open-served-model.ts'

serveModels(openServedModel)
