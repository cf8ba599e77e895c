import type { Clock } from '../../lib/clock.ts'
import type { Env } from '../../lib/env.ts'
import type { NetworkView } from '../../lib/media/host-policy.ts'
import { DocumentReader } from './document-reader.ts'
import { MediaBudget } from './media-budget.ts'
import { MediaResolver } from './media-resolver.ts'
import type { MediaSettings } from './media-settings.ts'

/** What a node's process says about media. */
export interface MediaSurroundings {
  readonly settings: MediaSettings
  /** The server's environment, for the processes that read documents. */
  readonly environment: Env
  /** Absent: the system's resolver and the public addresses of the Internet. */
  readonly network?: NetworkView
}

/** What media are read with. */
export interface MediaParts extends MediaSurroundings {
  readonly clock: Clock
}

/** All that a node has for media, once: \`resolver.resolve(reference, budget.hold(signal))\`. */
export interface Media extends AsyncDisposable {
  readonly resolver: MediaResolver
  readonly budget: MediaBudget
}

/** Starts nothing yet: processes start with the first PDF or page, and end when this is disposed of. */
export function openMedia({ environment, ...parts }: MediaParts): Media {
  const { settings, clock } = parts
  const { documentTimeoutMs: timeoutMs, heldBytesMax: bytesMax, roomWaitMs: waitMs } = settings
  const documents = new DocumentReader({ clock, environment, timeoutMs })
  return {
    resolver: new MediaResolver({ ...parts, documents }),
    budget: new MediaBudget({ bytesMax, waitMs, clock }),
    [Symbol.asyncDispose]: () => documents.close(),
  }
}
