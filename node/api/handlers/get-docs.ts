import type { Handler } from '../operation.ts'

export const getDocs: Handler = (_request, { docs }) => docs.page
