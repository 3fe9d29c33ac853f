/** The agent process leaves with this code when a job asks the router to restart (EX_TEMPFAIL of sysexits.h). */
export const restartExitCode = 75
