import type { EtcdEndpoints } from '../../../lib/etcd/etcd-endpoints.ts'
import type { EtcdTiming, EtcdUser } from './etcd-members.ts'

/** How etcd is reached: plain data, so that another thread can have it. */
export interface EtcdConnection extends EtcdEndpoints {
  readonly user: EtcdUser | undefined
  readonly timing: EtcdTiming
}
