import { jsonReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../operation.ts'

export const getVersion: Handler = (_request, { service: { version } }) =>
  jsonReply(200, {
    version: version.version,
    git_commit: version.gitCommit,
    build_time: version.buildTime,
    // Clients of an older server read this name; it has always meant what runs the server.
    go_version: version.runtimeVersion,
    runtime_version: version.runtimeVersion,
  })
