// The context of a handler.

import type { Contract } from '../../door/contract.ts'
import type { DocsPage } from '../../door/docs-page.ts'
import type { Handler as DoorHandler } from '../../door/operation.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import type { InferenceService } from '../service/inference-service.ts'

/**
 * What every handler gets beside its request. It is the same object for all requests of a server.
 */
export interface ApiContext {
  readonly service: InferenceService
  readonly contract: Contract
  readonly docs: DocsPage
  readonly clock: Clock
  readonly random: Random
}

export type Handler = DoorHandler<ApiContext>
