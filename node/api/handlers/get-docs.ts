import type { Handler } from '../../../door/operation.ts'
import type { ApiContext } from '../operation.ts'

export const getDocs: Handler<Pick<ApiContext, 'docs'>> = (_request, { docs }) => docs.page
