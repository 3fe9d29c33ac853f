/** A router to connect, and the enrollment key that only it can use. */
export type NewRouter = { serial: string; model: string; enrollmentKey: string }
