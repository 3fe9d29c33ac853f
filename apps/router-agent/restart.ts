/** The agent process leaves with this code when a job asks the router to restart (EX_TEMPFAIL of sysexits.h). */
export const restartExitCode = 75

/** The agent ends with this code when its settings are wrong, which no restart mends. */
export const misconfiguredExitCode = 2
