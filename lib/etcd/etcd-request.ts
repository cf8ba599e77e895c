/** A call of etcd's: the path that gRPC has for it, and the message. */
export interface EtcdRequest {
  readonly path: string
  readonly body: Buffer
  /** The call is a stream, of which we send one message and take one. */
  readonly isStream?: boolean
}
