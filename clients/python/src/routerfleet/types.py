"""The types of requests and responses: dictionaries with the members that the API reference names."""

# Generated from the OpenAPI document by `npm run generate` in clients/typescript. Do not edit.

from typing import Any, Literal

from typing_extensions import NotRequired, TypeAlias, TypedDict


class CreateOrganizationRequest(TypedDict):
    name: str
    plan: NotRequired[str]
    """The plan; `free` by default."""


class ProblemError(TypedDict):
    pointer: str
    code: str
    detail: str


class Problem(TypedDict):
    """RFC 9457 problem document."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    """Machine-readable error code."""
    requestId: str
    errors: NotRequired["list[ProblemError]"]


class OrganizationSubscription(TypedDict):
    status: Literal["trialing", "active", "past_due", "suspended", "cancelled"]
    deviceQuota: int


class Organization(TypedDict):
    id: str
    name: str
    plan: str
    subscription: "OrganizationSubscription"
    createdAt: str


class OrganizationPage(TypedDict):
    items: "list[Organization]"
    nextCursor: str | None
    """Null on the last page."""


class UpdateOrganizationRequest(TypedDict):
    name: str


class ReplaceSubscriptionRequest(TypedDict):
    plan: str
    status: Literal["trialing", "active", "past_due", "suspended", "cancelled"]
    deviceQuota: NotRequired[int]
    """Overrides the device quota of the plan."""


class UsageDevicesByStatus(TypedDict):
    online: int
    offline: int
    provisioning: int
    error: int
    disabled: int


class UsageDevices(TypedDict):
    used: int
    limit: int
    byStatus: "UsageDevicesByStatus"


class UsageAlertMails(TypedDict):
    """Messages about alerts on the present UTC day."""

    used: int
    limit: int


class UsageFeatures(TypedDict):
    smartTagGroups: bool
    fleetGps: bool
    coverage: bool


class UsageLimitsValue(TypedDict):
    limit: int
    used: int


class Usage(TypedDict):
    organizationId: str
    devices: "UsageDevices"
    requestsPerMinute: int
    alertMails: "UsageAlertMails"
    historyDays: int
    features: "UsageFeatures"
    limits: "dict[str, UsageLimitsValue]"
    """Limits of the organization. Those within one device, group or profile are in `GET /plans`."""


class PlanLimits(TypedDict):
    """The most that an organization can store of each kind."""

    apiKeys: int
    people: int
    enrollmentKeys: int
    webhooks: int
    groups: int
    groupMembers: int
    places: int
    profiles: int
    profileVersions: int
    firmwareImages: int
    savedViews: int
    alertRules: int
    chatChannels: int
    waitingAddresses: int
    openBatches: int
    openDeviceJobs: int
    deviceTokens: int


class PlanFeatures(TypedDict):
    smartTagGroups: bool
    fleetGps: bool
    coverage: bool


class Plan(TypedDict):
    name: str
    deviceQuota: int
    """Maximum number of devices, unless the subscription overrides it."""
    requestsPerMinute: int
    alertMailsPerDay: int
    """Most messages about alerts on a UTC day."""
    historyDays: int
    limits: "PlanLimits"
    features: "PlanFeatures"


class PlanPage(TypedDict):
    items: "list[Plan]"
    nextCursor: str | None
    """Null on the last page."""


class AuditRecord(TypedDict):
    id: str
    at: str
    actor: str
    """`key:…`, `person:…`, `user:…`, `device:…`, `email:…` (who answered a message about alerts) or `system`."""
    actorName: str | None
    """The name of the person, user or API key; null for others."""
    action: str
    subjectType: str
    subjectId: str
    subjectName: str | None
    """The last known name of the object, also of a deleted one; null if it has none."""
    detail: dict[str, Any]
    requestId: str | None


class AuditRecordPage(TypedDict):
    items: "list[AuditRecord]"
    nextCursor: str | None
    """Null on the last page."""


class CreateToolCallRequest(TypedDict):
    tool: str
    """The name of the tool: lower-case letters, digits and underscores."""
    about: NotRequired[str]
    """What the tool was called for, such as a device. Never a secret."""
    step: NotRequired[Literal["plan", "confirm"]]
    """For a tool that changes something: whether the caller requests its plan or confirms it."""


Role: TypeAlias = Literal["viewer", "operator", "admin"]


class CreateApiKeyRequestAlsoInItem(TypedDict):
    organizationId: str
    scopes: NotRequired[list[Literal[
        "device:read",
        "device:sensitive",
        "device:create",
        "device:update",
        "device:delete",
        "device:transfer",
        "group:read",
        "group:write",
        "config:read",
        "config:write",
        "config:apply",
        "job:read",
        "job:create",
        "job:cancel",
        "telemetry:read",
        "fleet:read",
        "place:write",
        "alert:read",
        "alert:acknowledge",
        "alert:write",
        "org:read",
        "org:write",
        "key:manage",
        "audit:read",
        "webhook:manage",
        "platform",
    ]]]
    role: NotRequired["Role"]


class CreateApiKeyRequest(TypedDict):
    name: str
    scopes: NotRequired[list[Literal[
        "device:read",
        "device:sensitive",
        "device:create",
        "device:update",
        "device:delete",
        "device:transfer",
        "group:read",
        "group:write",
        "config:read",
        "config:write",
        "config:apply",
        "job:read",
        "job:create",
        "job:cancel",
        "telemetry:read",
        "fleet:read",
        "place:write",
        "alert:read",
        "alert:acknowledge",
        "alert:write",
        "org:read",
        "org:write",
        "key:manage",
        "audit:read",
        "webhook:manage",
        "platform",
    ]]]
    role: NotRequired["Role"]
    alsoIn: NotRequired["list[CreateApiKeyRequestAlsoInItem]"]
    """Grants in other organizations; an empty list by default."""
    expiresAt: NotRequired[str]


class NewApiKey(TypedDict):
    id: str
    name: str
    scopes: "list[Scope]"
    """Scopes of the key in this organization."""
    key: str


# Later versions can add values: accept values that you do not know.
Scope: TypeAlias = Literal[
    "device:read",
    "device:sensitive",
    "device:create",
    "device:update",
    "device:delete",
    "device:transfer",
    "group:read",
    "group:write",
    "config:read",
    "config:write",
    "config:apply",
    "job:read",
    "job:create",
    "job:cancel",
    "telemetry:read",
    "fleet:read",
    "place:write",
    "alert:read",
    "alert:acknowledge",
    "alert:write",
    "org:read",
    "org:write",
    "key:manage",
    "audit:read",
    "webhook:manage",
]


class ApiKeyAlsoInItem(TypedDict):
    organizationId: str
    scopes: "list[Scope]"


class ApiKey(TypedDict):
    id: str
    name: str
    scopes: "list[Scope]"
    """Scopes of the key in this organization."""
    role: "Role | None"
    """The role with exactly these scopes; null if there is none."""
    alsoIn: "list[ApiKeyAlsoInItem]"
    """Scopes in other organizations. Only the organization that owns the key sees them."""
    createdBy: str
    createdAt: str
    expiresAt: str | None
    lastUsedAt: str | None
    """To within a minute; null if the key was never used."""


class ApiKeyPage(TypedDict):
    items: "list[ApiKey]"
    nextCursor: str | None
    """Null on the last page."""


class RotateApiKeyRequest(TypedDict):
    oldKeyExpiresInMinutes: NotRequired[int]
    """How long the old key continues to work. 0 revokes it at once."""


class CreateEnrollmentKeyRequest(TypedDict):
    name: str
    autoCreate: bool
    allowGateway: NotRequired[bool]
    """Lets a gateway report for registered devices of the organization. For devices without a token of their own, it
    also takes their jobs and reads their configuration with its secrets.
    """
    groupId: NotRequired[str]
    """Limits the gateway to the effective members of this group; to none, once the group is deleted. The key then
    enrolls no routers. Requires `allowGateway` and `autoCreate: false`.
    """
    models: NotRequired[list[str]]
    maxDevices: NotRequired[int]
    expiresAt: NotRequired[str]


class NewEnrollmentKey(TypedDict):
    id: str
    name: str
    autoCreate: bool
    allowGateway: bool
    """A gateway may speak for registered devices with the key."""
    groupId: str | None
    """The gateway may speak for the effective members of this group only; null for all devices."""
    models: list[str] | None
    """Allowed models; null for any model."""
    maxDevices: int | None
    enrolledCount: int
    createdAt: str
    expiresAt: str | None
    key: str


class EnrollmentKey(TypedDict):
    id: str
    name: str
    autoCreate: bool
    allowGateway: bool
    """A gateway may speak for registered devices with the key."""
    groupId: str | None
    """The gateway may speak for the effective members of this group only; null for all devices."""
    models: list[str] | None
    """Allowed models; null for any model."""
    maxDevices: int | None
    enrolledCount: int
    createdAt: str
    expiresAt: str | None


class EnrollmentKeyPage(TypedDict):
    items: "list[EnrollmentKey]"
    nextCursor: str | None
    """Null on the last page."""


class CreateAccessTokenRequest(TypedDict):
    grant_type: NotRequired[str]
    """`client_credentials`"""
    client_id: NotRequired[str]
    client_secret: NotRequired[str]
    scope: NotRequired[str]
    """Not supported: a token has the scopes of its key."""


class AccessToken(TypedDict):
    access_token: str
    token_type: Literal["Bearer"]
    expires_in: int


class SigningKeysKey(TypedDict):
    kty: str


class SigningKeys(TypedDict):
    keys: "list[SigningKeysKey]"


class Person(TypedDict):
    id: str
    name: str
    email: str
    """In lower case."""
    emailConfirmed: bool
    """Whether the person used a link that was e-mailed to the address."""
    role: "Role"
    invitedBy: str
    """`key:…`, `person:…` or `user:…`."""
    invitedByName: str | None
    joinedAt: str
    lastUsedAt: str | None
    """When the person last used the page, to within a minute; null without a session that has not ended."""


class PersonPage(TypedDict):
    items: "list[Person]"
    nextCursor: str | None
    """Null on the last page."""


class UpdatePersonRequest(TypedDict):
    role: "Role"


class SignInLink(TypedDict):
    url: str
    expiresAt: str


class CreateInvitationRequest(TypedDict):
    email: str
    role: "Role"


class NewInvitationMail(TypedDict):
    state: Literal["waiting", "sent", "failed"]
    error: str | None
    """Why it was given up, or why the last attempt failed."""


class NewInvitation(TypedDict):
    id: str
    email: str
    """In lower case."""
    role: "Role"
    invitedBy: str
    """`key:…`, `person:…` or `user:…`."""
    invitedByName: str | None
    createdAt: str
    expiresAt: str
    """Until then, the invitation can be accepted."""
    mail: "NewInvitationMail | None"
    """The message with the link; null if the link was shown, because no mail server was set up."""
    url: str | None
    """The link; null if the service sends it to the address."""


class InvitationMail(TypedDict):
    state: Literal["waiting", "sent", "failed"]
    error: str | None
    """Why it was given up, or why the last attempt failed."""


class Invitation(TypedDict):
    id: str
    email: str
    """In lower case."""
    role: "Role"
    invitedBy: str
    """`key:…`, `person:…` or `user:…`."""
    invitedByName: str | None
    createdAt: str
    expiresAt: str
    """Until then, the invitation can be accepted."""
    mail: "InvitationMail | None"
    """The message with the link; null if the link was shown, because no mail server was set up."""


class InvitationPage(TypedDict):
    items: "list[Invitation]"
    nextCursor: str | None
    """Null on the last page."""


class GetInvitationByLinkRequest(TypedDict):
    link: str
    """The token of the link."""


class LinkedInvitation(TypedDict):
    organizationName: str
    email: str
    role: "Role"
    invitedByName: str | None
    name: str | None
    """The name of the person, if the person is in another organization already."""
    expiresAt: str


class AcceptInvitationRequest(TypedDict):
    link: str
    """The token of the link."""
    name: str
    """The name of the person, as colleagues see it. Ignored if the invitation knows the name."""


class CallerOrganization(TypedDict):
    id: str
    scopes: "list[Scope]"


class Caller(TypedDict):
    id: str
    """`key:…`, `person:…` or `user:…`, as in audit records."""
    name: str | None
    """The name of the API key, the person or the user."""
    platform: bool
    """Whether the caller is a platform administrator, with all scopes everywhere."""
    sessionId: str | None
    """The sign-in session; null for callers with their own credentials."""
    organizations: "list[CallerOrganization]"


class CreateSessionRequest(TypedDict):
    link: str
    """The token of the link."""


class SignInStateProvider(TypedDict):
    name: str
    signsOut: bool
    """Whether its users sign out at `/auth/oidc/sign-out` as well."""


class SignInState(TypedDict):
    caller: "Caller | None"
    """Null without a valid session."""
    provider: "SignInStateProvider | None"
    """The identity provider; null without one."""
    sendsLinks: bool
    """Whether people can get a sign-in link by e-mail."""


class SendSignInMailRequest(TypedDict):
    email: str


class SentSignInMail(TypedDict):
    email: str


class UpdateCallerRequest(TypedDict):
    name: str


class Session(TypedDict):
    id: str
    current: bool
    """Whether it is the session of this request."""
    userAgent: str | None
    """The browser, as it describes itself."""
    createdAt: str
    lastUsedAt: str | None
    """To within a minute."""
    expiresAt: str


class SessionPage(TypedDict):
    items: "list[Session]"
    nextCursor: str | None
    """Null on the last page."""


class PlatformSession(TypedDict):
    id: str
    current: bool
    """Whether it is the session of this request."""
    userAgent: str | None
    """The browser, as it describes itself."""
    createdAt: str
    lastUsedAt: str | None
    """To within a minute."""
    expiresAt: str
    principalId: str
    """`key:…`, `person:…` or `user:…`, as in audit records."""
    name: str | None
    """The name of the API key, the person or the user."""
    platform: bool
    """Whether it is the session of a platform administrator."""


class PlatformSessionPage(TypedDict):
    items: "list[PlatformSession]"
    nextCursor: str | None
    """Null on the last page."""


class OrganizationSession(TypedDict):
    id: str
    current: bool
    """Whether it is the session of this request."""
    userAgent: str | None
    """The browser, as it describes itself."""
    createdAt: str
    lastUsedAt: str | None
    """To within a minute."""
    expiresAt: str
    principalId: str
    """`key:…`, `person:…` or `user:…`, as in audit records."""
    name: str | None
    """The name of the API key, the person or the user."""


class OrganizationSessionPage(TypedDict):
    items: "list[OrganizationSession]"
    nextCursor: str | None
    """Null on the last page."""


class DeviceImportResult(TypedDict):
    index: int
    """Index of the row, starting at 0."""
    line: int
    """The line of the file on which the row ends, starting at 1."""
    status: Literal["created", "updated", "failed"]
    id: NotRequired[str]
    token: NotRequired[str]
    code: NotRequired[str]
    detail: NotRequired[str]


class DeviceImport(TypedDict):
    created: int
    updated: int
    """With `existing=update`: rows whose device exists."""
    results: "list[DeviceImportResult]"


DeviceStatus: TypeAlias = Literal["online", "offline", "provisioning", "error", "disabled"]


# Later versions can add values: accept values that you do not know.
RadioAccessTechnology: TypeAlias = Literal["gsm", "umts", "hspa", "lte", "lte-m", "nb-iot", "nr-nsa", "nr-sa", "none"]


class ListedDevice(TypedDict):
    id: str
    organizationId: str
    serial: str
    name: str
    model: str
    tags: list[str]
    status: "DeviceStatus"
    lastSeenAt: str | None
    firmware: str | None
    configProfile: "AppliedProfile | None"
    """The profile last applied to the device."""
    location: "LastLocation | None"
    notes: str | None
    """Null without notes, and for callers without `device:read`."""
    createdAt: str
    updatedAt: str
    signal: NotRequired["ListedSignal | None"]
    """With `include=signal`: the last signal of the active modem; null without one in the last 24 hours."""
    modems: NotRequired["ListedModems | None"]
    """With `include=signal`: how many modems reported in the last 24 hours, and how many of them have no service. Null
    in organizations whose fleet map you cannot read.
    """
    near: NotRequired["Near | None"]
    """The nearest town with at least 1,000 inhabitants (GeoNames, CC BY 4.0)."""
    dataUse: NotRequired["ListedDataUse | None"]
    """With `include=dataUse`: what all modems and interfaces of the device received and sent for the organization on
    this UTC day and since the start of this UTC month, from the counters in `connection` samples; null for a time
    without a counter. It is measured every 10 minutes, or less often for very large fleets. Null until it has been
    measured, and in organizations where you lack `telemetry:read`.
    """


class AppliedProfile(TypedDict):
    id: str
    version: int


class LastLocation(TypedDict):
    lat: float
    lon: float
    ts: str


class ListedSignal(TypedDict):
    ts: str
    modem: str | None
    rat: str | None
    plmn: str | None
    operatorName: str | None
    rsrpDbm: float | None
    sinrDb: float | None
    quality: "SignalQuality | None"


class ListedModems(TypedDict):
    count: int
    withoutService: int


class Near(TypedDict):
    name: str
    country: str
    """ISO 3166-1 alpha-2."""
    distanceKm: float
    bearing: int
    """From the town to the position, in degrees clockwise from north."""


class ListedDataUse(TypedDict):
    todayBytes: float | None
    monthBytes: float | None
    measuredAt: str


SignalQuality: TypeAlias = Literal["none", "poor", "fair", "good", "excellent"]


class ListedDevicePage(TypedDict):
    items: "list[ListedDevice]"
    nextCursor: str | None
    """Null on the last page."""


class CreateDeviceRequest(TypedDict):
    organizationId: str
    serial: str
    """Serial number, unique in the organization regardless of case. It cannot be changed."""
    name: str
    model: str
    tags: NotRequired[list[str]]
    """Tags, without semicolons; an empty list by default."""
    notes: NotRequired[str | None]
    """Free text, which can have several lines. Null or an empty text removes it."""


class Device(TypedDict):
    id: str
    organizationId: str
    serial: str
    name: str
    model: str
    tags: list[str]
    status: "DeviceStatus"
    lastSeenAt: str | None
    firmware: str | None
    configProfile: "AppliedProfile | None"
    """The profile last applied to the device."""
    location: "LastLocation | None"
    notes: str | None
    """Null without notes, and for callers without `device:read`."""
    createdAt: str
    updatedAt: str


class UpdateDeviceRequest(TypedDict):
    name: NotRequired[str]
    model: NotRequired[str]
    tags: NotRequired[list[str]]
    notes: NotRequired[str | None]
    """Free text, which can have several lines. Null or an empty text removes it."""
    status: NotRequired["DeviceStatus"]
    serial: NotRequired[str]


class TransferDeviceRequest(TypedDict):
    toOrgId: str
    reason: NotRequired[str]


class CreateDeviceTokenRequest(TypedDict):
    revoke: NotRequired[bool]


class NewDeviceToken(TypedDict):
    token: str
    expiresAt: str | None
    """Null if the token does not expire."""


class DeviceIdentifiers(TypedDict):
    imei: list[str]
    """15 digits each."""
    mac: list[str]
    """12 lower-case hex digits each."""


class ReplaceDeviceIdentifiersRequest(TypedDict):
    imei: NotRequired[list[str]]
    mac: NotRequired[list[str]]


# Later versions can add values: accept values that you do not know.
DeviceEventKind: TypeAlias = Literal["status", "change", "job", "alert", "reboot", "handover", "fault", "report"]


class DeviceEvent(TypedDict):
    id: str
    """Unique among the events of the device."""
    at: str
    kind: "DeviceEventKind"
    action: str
    """What happened: the action of the audit record, the status of the job, `opened`, `rebooted`, `cell_changed`,
    `fault_reported` and so on.
    """
    by: str | None
    """`key:…`, `person:…`, `user:…`, `device:…` or `system`; null for what the device measured."""
    byName: str | None
    """The name of the person, user or API key."""
    detail: dict[str, Any]


class DeviceEventPage(TypedDict):
    items: "list[DeviceEvent]"
    nextCursor: str | None
    """Null on the last page."""
    omitted: "list[DeviceEventKind]"


class DeviceToken(TypedDict):
    id: str
    """The part of the token between `fld_` and the next `_`."""
    createdAt: str
    expiresAt: str | None
    """Null if the token does not expire."""


class DeviceTokenPage(TypedDict):
    items: "list[DeviceToken]"
    nextCursor: str | None
    """Null on the last page."""


class DeviceCountsStatus(TypedDict):
    online: int
    offline: int
    provisioning: int
    error: int
    disabled: int


class DeviceCountsModel(TypedDict):
    value: str
    devices: int


class DeviceCountsFirmwareItem(TypedDict):
    value: str
    devices: int


class DeviceCountsTag(TypedDict):
    value: str
    devices: int


class DeviceCounts(TypedDict):
    total: int
    status: "DeviceCountsStatus"
    models: "list[DeviceCountsModel]"
    """The 200 most frequent models."""
    firmware: "list[DeviceCountsFirmwareItem]"
    """The 200 most frequent firmware versions."""
    tags: "list[DeviceCountsTag]"
    """The 200 most frequent tags."""


class DeviceFilter(TypedDict):
    """All devices of the organization that match. An empty filter matches all devices."""

    status: NotRequired["DeviceStatus"]
    q: NotRequired[str]
    """Case-insensitive substring of name, serial, model or organization name."""
    tag: NotRequired[list[str]]
    """Devices that have all of these tags."""
    configState: NotRequired[Literal["inSync", "pending", "differs", "unknown"]]
    """Whether devices run the profile that was last applied to them."""
    placeId: NotRequired[str]
    """Returns devices whose last position is inside this place. Needs `fleet:read`."""
    groupId: NotRequired[str]
    """Returns the effective members of this group. Needs `group:read`."""
    firmware: NotRequired[str]
    """Returns devices with exactly this firmware version."""
    rat: NotRequired["RadioAccessTechnology"]
    """Returns devices whose active modem last used this radio technology. Needs `fleet:read`."""
    plmn: NotRequired[str]
    """Returns devices whose active modem last used this operator. Needs `fleet:read`."""
    modems: NotRequired[Literal["several", "withoutService"]]
    """`several`: devices of which more than one modem reported in the last 24 hours. `withoutService`: devices of
    which a modem has no service. Needs `fleet:read`.
    """
    near: NotRequired[str]
    """A part of the name of a town, regardless of case and accents. Returns devices to which such a town is the
    nearest. Needs `fleet:read`.
    """
    signal: NotRequired[list[Literal["none", "poor", "fair", "good", "excellent", "unknown"]]]
    """Returns devices whose active modem has a signal of one of these classes; `none` is no service, `unknown` no
    signal in the last 24 hours. Needs `fleet:read`.
    """
    seenWithinMinutes: NotRequired[int]
    """Returns devices that reported within the last minutes."""
    silentForMinutes: NotRequired[int]
    """Returns devices whose last report is older than so many minutes."""
    minTodayBytes: NotRequired[int]
    """Returns devices that have used at least so many bytes on this UTC day, in both directions together. Needs
    `telemetry:read`.
    """
    minMonthBytes: NotRequired[int]
    """The same since the start of this UTC month."""
    bbox: NotRequired[list[float]]
    """West, south, east and north of a box in degrees. west > east is a box across the antimeridian."""


class UpdateDeviceTagsRequest(TypedDict):
    deviceIds: NotRequired[list[str]]
    filter: NotRequired["DeviceFilter"]
    """Replaces `deviceIds`: all devices that match when the request is made."""
    add: NotRequired[list[str]]
    remove: NotRequired[list[str]]


class ChangedTags(TypedDict):
    matched: int
    changed: int
    refused: int


class UpdateDeviceStatusRequest(TypedDict):
    deviceIds: NotRequired[list[str]]
    filter: NotRequired["DeviceFilter"]
    """Replaces `deviceIds`: all devices that match when the request is made."""
    disabled: bool


class BulkChangeDevice(TypedDict):
    deviceId: str
    name: str


class BulkChangeSkippedItem(TypedDict):
    deviceId: str
    name: str
    reason: str
    """The code of the error."""
    detail: str


class BulkChange(TypedDict):
    matched: int
    """Number of selected devices."""
    changed: int
    devices: "list[BulkChangeDevice]"
    """The first 10 changed devices, by name."""
    skipped: "list[BulkChangeSkippedItem]"
    """The devices that did not change, by name."""


class TransferDevicesRequest(TypedDict):
    deviceIds: NotRequired[list[str]]
    filter: NotRequired["DeviceFilter"]
    """Replaces `deviceIds`: all devices that match when the request is made."""
    toOrgId: str
    reason: NotRequired[str]


class DeleteDevicesRequest(TypedDict):
    deviceIds: NotRequired[list[str]]
    filter: NotRequired["DeviceFilter"]
    """Replaces `deviceIds`: all devices that match when the request is made."""


class Group(TypedDict):
    id: str
    name: str
    smartTags: list[str]
    explicitDeviceCount: int
    effectiveDeviceCount: int
    """Number of explicit members and of devices with any of the smart tags."""
    createdAt: str
    updatedAt: str


class GroupPage(TypedDict):
    items: "list[Group]"
    nextCursor: str | None
    """Null on the last page."""


class CreateGroupRequest(TypedDict):
    name: str
    smartTags: NotRequired[list[str]]


class UpdateGroupRequest(TypedDict):
    name: NotRequired[str]
    smartTags: NotRequired[list[str]]


class GroupMember(TypedDict):
    id: str
    organizationId: str
    serial: str
    name: str
    model: str
    tags: list[str]
    status: "DeviceStatus"
    lastSeenAt: str | None
    firmware: str | None
    configProfile: "AppliedProfile | None"
    """The profile last applied to the device."""
    location: "LastLocation | None"
    createdAt: str
    updatedAt: str
    membership: Literal["explicit", "smartTag", "both"]


class GroupMemberPage(TypedDict):
    items: "list[GroupMember]"
    nextCursor: str | None
    """Null on the last page."""


class AddGroupMembersRequest(TypedDict):
    deviceIds: list[str]


class AddedMembers(TypedDict):
    added: int
    alreadyMembers: int


class PlaceAreaPolygon(TypedDict):
    type: Literal["Polygon"]
    coordinates: list[list[list[float]]]


class PlaceAreaMultiPolygon(TypedDict):
    type: Literal["MultiPolygon"]
    coordinates: list[list[list[list[float]]]]


class PlaceAreaCircle(TypedDict):
    type: Literal["Circle"]
    lat: float
    lon: float
    radiusM: float


# A polygon across the antimeridian is a MultiPolygon of its parts (RFC 7946, 3.1.9).
PlaceArea: TypeAlias = (
    "PlaceAreaPolygon | "
    "PlaceAreaMultiPolygon | "
    "PlaceAreaCircle"
)


class Place(TypedDict):
    id: str
    name: str
    area: "PlaceArea"
    tags: list[str]
    createdAt: str
    updatedAt: str


class PlacePage(TypedDict):
    items: "list[Place]"
    nextCursor: str | None
    """Null on the last page."""


# A circle, or a GeoJSON Polygon (RFC 7946) with one ring. The polygon can be in a Feature, in a collection or be a
# MultiPolygon, if it is the only one. The two sides of a polygon across the antimeridian, as answers have them, count
# as one. Altitudes, `bbox`, `crs`, properties, and points and lines beside the polygon are ignored.
NewArea: TypeAlias = (
    "AreaPolygon | "
    "AreaMultiPolygon | "
    "IgnoredAreaGeometry | "
    "AreaGeometryCollection | "
    "AreaFeature | "
    "AreaFeatureCollection | "
    "AreaCircle"
)


class AreaPolygon(TypedDict):
    type: Literal["Polygon"]
    coordinates: list[list[list[float | None]]]


class AreaMultiPolygon(TypedDict):
    type: Literal["MultiPolygon"]
    coordinates: list[list[list[list[float | None]]]]


class IgnoredAreaGeometry(TypedDict):
    type: Literal["Point", "MultiPoint", "LineString", "MultiLineString"]


class AreaGeometryCollection(TypedDict):
    type: Literal["GeometryCollection"]
    geometries: "list[AreaPolygon | AreaMultiPolygon | IgnoredAreaGeometry]"


class AreaFeature(TypedDict):
    type: Literal["Feature"]
    geometry: "AreaPolygon | AreaMultiPolygon | IgnoredAreaGeometry | AreaGeometryCollection | None"


class AreaFeatureCollection(TypedDict):
    type: Literal["FeatureCollection"]
    features: "list[AreaFeature]"


class AreaCircle(TypedDict):
    type: Literal["Circle"]
    lat: float
    lon: float
    radiusM: float


class CreatePlaceRequest(TypedDict):
    name: str
    area: "NewArea"
    tags: NotRequired[list[str]]


class UpdatePlaceRequest(TypedDict):
    name: NotRequired[str]
    area: NotRequired["NewArea"]
    tags: NotRequired[list[str]]


class ConfigProfile(TypedDict):
    id: str
    name: str
    description: str | None
    model: str | None
    settings: dict[str, Any]
    """Secrets are replaced by `{"$secret": {"set": true, "updatedAt": …}}`."""
    version: int
    createdAt: str
    updatedAt: str


class ConfigProfilePage(TypedDict):
    items: "list[ConfigProfile]"
    nextCursor: str | None
    """Null on the last page."""


class CreateConfigProfileRequest(TypedDict):
    name: str
    description: NotRequired[str | None]
    model: NotRequired[str | None]
    """The router model of the profile; null for any model."""
    settings: NotRequired[dict[str, Any]]
    """JSON of at most 64 KiB and 16 levels, keys of at most 256 characters. A secret is `{"$secret": "value"}`."""


class UpdateConfigProfileRequest(TypedDict):
    name: NotRequired[str]
    description: NotRequired[str | None]
    model: NotRequired[str | None]
    """The router model of the profile; null for any model."""
    settings: NotRequired[dict[str, Any]]
    """JSON of at most 64 KiB and 16 levels, keys of at most 256 characters. A secret is `{"$secret": "value"}`."""


class ConfigProfileVersion(TypedDict):
    name: str
    description: str | None
    model: str | None
    settings: dict[str, Any]
    """Secrets are replaced by `{"$secret": {"set": true, "updatedAt": …}}`."""
    version: int
    createdAt: str
    createdBy: str
    """`key:…`, `person:…` or `user:…`."""
    createdByName: str | None
    """The name of the person, user or API key; null for others."""


class ConfigProfileVersionPage(TypedDict):
    items: "list[ConfigProfileVersion]"
    nextCursor: str | None
    """Null on the last page."""


class RollBackConfigProfileRequest(TypedDict):
    version: int


class ConfigProfileDevice(TypedDict):
    id: str
    name: str
    serial: str
    model: str
    status: "DeviceStatus"
    appliedVersion: int
    pendingVersion: int | None
    """The version of an open job that applies the profile."""


class ConfigProfileDevicePageCounts(TypedDict):
    current: int
    behind: int


class ConfigProfileDevicePage(TypedDict):
    items: "list[ConfigProfileDevice]"
    nextCursor: str | None
    """Null on the last page."""
    counts: "ConfigProfileDevicePageCounts"


class VariableSet(TypedDict):
    variables: dict[str, Any]
    """Values by name. Secrets are replaced by `{"$secret": {"set": true, "updatedAt": …}}`."""
    updatedAt: str | None
    """Null if no values were ever set."""


class ReplaceVariablesRequest(TypedDict):
    variables: dict[str, Any]
    """A name has letters, digits, `_`, `-` and `.`, at most 64 characters. A value is any JSON; it is a secret if its
    name says so or as `{"$secret": value}`. Null: no value.
    """


class GroupVariableSet(TypedDict):
    variables: dict[str, Any]
    """Values by name. Secrets are replaced by `{"$secret": {"set": true, "updatedAt": …}}`."""
    updatedAt: str | None
    """Null if no values were ever set."""
    priority: int
    """Of two groups with a value, the one with the higher priority wins."""


class ReplaceGroupVariablesRequest(TypedDict):
    variables: dict[str, Any]
    """A name has letters, digits, `_`, `-` and `.`, at most 64 characters. A value is any JSON; it is a secret if its
    name says so or as `{"$secret": value}`. Null: no value.
    """
    priority: NotRequired[int]
    """0 at first."""


class ReplaceDeviceVariablesRequest(TypedDict):
    variables: dict[str, Any]
    """A name has letters, digits, `_`, `-` and `.`, at most 64 characters. A value is any JSON; it is a secret if its
    name says so or as `{"$secret": value}`. Null: no value.
    """


class DeviceConfigProfile(TypedDict):
    id: str
    name: str
    version: int


class DeviceConfigVariableSourceKind(TypedDict):
    kind: Literal["device", "organization", "builtIn", "default"]


class DeviceConfigVariableSourceGroup(TypedDict):
    kind: Literal["group"]
    id: str
    name: str
    priority: int


# Where the value is from. `default`: the profile has one at each use.
DeviceConfigVariableSource: TypeAlias = (
    "DeviceConfigVariableSourceKind | "
    "DeviceConfigVariableSourceGroup"
)


class DeviceConfigVariable(TypedDict):
    name: str
    value: Any
    """Secrets are redacted. Null for `default`: see `settings`."""
    source: "DeviceConfigVariableSource"


class DeviceConfigDesired(TypedDict):
    profileId: str
    version: int
    digest: str
    settings: dict[str, Any]


class DeviceConfigReported(TypedDict):
    profileId: str
    version: int
    digest: str
    settings: dict[str, Any] | None
    """Null if the device sent only the digest."""
    reportedAt: str


class DeviceConfigDifference(TypedDict):
    path: str
    """A JSON pointer in the settings."""
    desired: Any
    """Null if the profile does not set it."""
    reported: Any
    """Null if the device does not have it."""


class DeviceConfig(TypedDict):
    deviceId: str
    profile: "DeviceConfigProfile | None"
    """The profile of the query, else the one that was last applied to the device; null if there is none."""
    settings: dict[str, Any] | None
    """What a job that is created now would send, with secrets redacted. References without a value stay as they are.
    Null without a profile.
    """
    variables: "list[DeviceConfigVariable]"
    """The variables that the profile uses and that have a value, by name."""
    desired: "DeviceConfigDesired | None"
    """What was last applied to the device, with its values, without secrets. Null if nothing was."""
    reported: "DeviceConfigReported | None"
    """What the device says to run. Null if it never said it."""
    differences: "list[DeviceConfigDifference]"
    """At most 500, without secrets."""
    state: Literal["inSync", "pending", "differs", "unknown"]
    """`pending`: a job that applies a profile is open, or the device has not reported since one was applied.
    `unknown`: no profile was applied, or the device does not report what it runs.
    """
    missingVariables: list[str]
    """Variables without a value and without a default. The profile cannot be applied to the device."""


class NewJobDelivery(TypedDict):
    when: Literal["goodSignal", "dwell", "goodSignalAndDwell"]
    """`goodSignal`: while the newest signal of the active modem, at most 2 minutes old, has `minQuality`. `dwell`:
    while the device dwells.
    """
    minQuality: NotRequired[Literal["poor", "fair", "good", "excellent"]]
    """The lowest quality of a good signal."""
    latestAt: NotRequired[str]
    """When waiting ends. Without it, a job waits until it expires."""
    atLatest: NotRequired[Literal["deliver", "expire"]]
    """What follows at `latestAt`: `deliver` (default) delivers the job at any moment, `expire` ends it."""


class Schedule(TypedDict):
    startAt: NotRequired[str]
    window: NotRequired["DailyWindow"]


DailyWindow = TypedDict(
    "DailyWindow",
    {
        "days": NotRequired[list[Literal["sun", "mon", "tue", "wed", "thu", "fri", "sat"]]],
        "from": str,
        "to": str,
        "timeZone": str,
    },
)


class RolloutStageDevices(TypedDict):
    devices: int


class RolloutStagePercent(TypedDict):
    percent: float


RolloutStage: TypeAlias = (
    "RolloutStageDevices | "
    "RolloutStagePercent"
)


class Rollout(TypedDict):
    maxPerMinute: NotRequired[int]
    """Jobs released in any 60 s."""
    maxConcurrent: NotRequired[int]
    """Jobs that are dispatched or in progress at a time."""
    canary: NotRequired[int]
    """Number of devices in the first stage. Without a limit for failures, one failed canary cancels the rest."""
    stages: NotRequired["list[RolloutStage]"]
    """The stages after the canaries. Each starts when all jobs of the stages before it have ended. The remaining
    devices form the last stage.
    """
    advanceWhenEndedPct: NotRequired[float]
    """The next stage starts when this share of the released jobs has ended. Default 100."""
    stageWaitMinutes: NotRequired[int]
    """Time between the end of a stage and the start of the next one."""
    confirmStages: NotRequired[bool]
    """Pauses the batch after each stage until it is resumed."""
    pauseWhenFailedPct: NotRequired[float]
    """Pauses the batch when this share of the devices up to the current stage has failed. Failures before a resume or
    a retry no longer count.
    """
    abortWhenFailedPct: NotRequired[float]
    """Cancels the remaining jobs when this share of the devices up to the current stage has failed. Failures before a
    retry no longer count.
    """


class ApplyConfigProfileRequest(TypedDict):
    deviceIds: NotRequired[list[str]]
    filter: NotRequired["DeviceFilter"]
    """Replaces `deviceIds`: all devices that match when the request is made."""
    groupId: NotRequired[str]
    """A group whose effective members receive the profile. Replaces `deviceIds`."""
    expiresInSeconds: NotRequired[int]
    """Time in which a device can start its job, from the first moment at which the schedule and the rollout let it. It
    starts again after a pause.
    """
    delivery: NotRequired["NewJobDelivery"]
    """Lets each device take its job at a good moment only: with good signal, or while it dwells."""
    schedule: NotRequired["Schedule"]
    rollout: NotRequired["Rollout"]


class ConfigApplicationPlanTargetGroupId(TypedDict):
    groupId: str


class ConfigApplicationPlanTargetDeviceIds(TypedDict):
    deviceIds: list[str]


class ConfigApplicationPlanTargetFilterFilter(TypedDict):
    status: NotRequired["DeviceStatus"]
    q: NotRequired[str]
    tag: NotRequired[list[str]]
    placeId: NotRequired[str]
    configState: NotRequired[Literal["inSync", "pending", "differs", "unknown"]]
    groupId: NotRequired[str]
    firmware: NotRequired[str]
    bbox: NotRequired[list[float]]
    seenWithinMinutes: NotRequired[int]
    silentForMinutes: NotRequired[int]
    signal: NotRequired[list[str]]
    rat: NotRequired[str]
    plmn: NotRequired[str]
    modems: NotRequired[Literal["several", "withoutService"]]
    near: NotRequired[str]
    minTodayBytes: NotRequired[int]
    minMonthBytes: NotRequired[int]


class ConfigApplicationPlanTargetFilter(TypedDict):
    filter: "ConfigApplicationPlanTargetFilterFilter"


ConfigApplicationPlanTarget: TypeAlias = (
    "ConfigApplicationPlanTargetGroupId | "
    "ConfigApplicationPlanTargetDeviceIds | "
    "ConfigApplicationPlanTargetFilter"
)


class ConfigApplicationPlanProfile(TypedDict):
    id: str
    version: int
    name: str | None


class ConfigApplicationPlanSkippedItem(TypedDict):
    deviceId: str
    reason: str
    """`device_disabled`, `model_mismatch`, `missing_variable` or `settings_too_large`."""
    variables: NotRequired[list[str]]
    """The variables without a value, for `missing_variable`."""


class ConfigApplicationPlanStage(TypedDict):
    devices: int
    earliestAt: str
    """When the stage starts at the earliest: the stages before it end at once. With `confirmStages`, an operator
    starts it.
    """


class ConfigApplicationPlan(TypedDict):
    kind: "JobKind"
    target: "ConfigApplicationPlanTarget"
    targetName: str | None
    """The name of the group at the time of creation; null for devices."""
    profile: "ConfigApplicationPlanProfile | None"
    """The profile that an `apply_config` batch applies, with its name at the time of creation."""
    parameters: dict[str, Any]
    """Redacted: a download URL has no query."""
    schedule: "Schedule | None"
    rollout: "Rollout | None"
    delivery: "JobDelivery | None"
    """The good moment that the jobs wait for; null: they do not wait."""
    total: int
    """Number of jobs, without skipped devices."""
    skipped: "list[ConfigApplicationPlanSkippedItem]"
    dryRun: Literal[True]
    skippedReasons: dict[str, int]
    """The number of skipped devices by reason."""
    stages: "list[ConfigApplicationPlanStage]"
    """One stage if the rollout has none; none without jobs."""
    devices: "list[PlannedDevice] | None"
    """The settings that change on the first devices that get a job, by their ids. Null without `config:read`."""
    nextCursor: str | None
    """For further `devices`."""


class JobDelivery(TypedDict):
    when: Literal["goodSignal", "dwell", "goodSignalAndDwell"]
    """`goodSignal`: while the newest signal of the active modem, at most 2 minutes old, has `minQuality`. `dwell`:
    while the device dwells.
    """
    minQuality: Literal["poor", "fair", "good", "excellent"]
    latestAt: str | None
    atLatest: Literal["deliver", "expire"] | None
    """Null without `latestAt`."""


class PlannedDeviceDifference(TypedDict):
    path: str
    """A JSON pointer in the settings."""
    desired: Any
    """What the job sends; null if the profile does not set it."""
    reported: Any
    """What the device runs: what it reported or, without a report, what was applied last. Null if it does not have it.
    """


class PlannedDevice(TypedDict):
    deviceId: str
    name: str
    differences: "list[PlannedDeviceDifference]"
    """At most 100, without secrets."""


# Later versions can add values: accept values that you do not know.
JobKind: TypeAlias = Literal["reboot", "apply_config", "firmware_update", "collect_diagnostics", "speed_test"]


class JobBatchTargetGroupId(TypedDict):
    groupId: str


class JobBatchTargetDeviceIds(TypedDict):
    deviceIds: list[str]


class JobBatchTargetFilterFilter(TypedDict):
    status: NotRequired["DeviceStatus"]
    q: NotRequired[str]
    tag: NotRequired[list[str]]
    placeId: NotRequired[str]
    configState: NotRequired[Literal["inSync", "pending", "differs", "unknown"]]
    groupId: NotRequired[str]
    firmware: NotRequired[str]
    bbox: NotRequired[list[float]]
    seenWithinMinutes: NotRequired[int]
    silentForMinutes: NotRequired[int]
    signal: NotRequired[list[str]]
    rat: NotRequired[str]
    plmn: NotRequired[str]
    modems: NotRequired[Literal["several", "withoutService"]]
    near: NotRequired[str]
    minTodayBytes: NotRequired[int]
    minMonthBytes: NotRequired[int]


class JobBatchTargetFilter(TypedDict):
    filter: "JobBatchTargetFilterFilter"


JobBatchTarget: TypeAlias = (
    "JobBatchTargetGroupId | "
    "JobBatchTargetDeviceIds | "
    "JobBatchTargetFilter"
)


class JobBatchProfile(TypedDict):
    id: str
    version: int
    name: str | None


class JobBatchStage(TypedDict):
    devices: int
    status: Literal["waiting", "running", "finished", "stopped"]
    startedAt: str | None
    endedAt: str | None
    counts: dict[str, int]


class JobBatchCounts(TypedDict):
    queued: int
    dispatched: int
    inProgress: int
    succeeded: int
    failed: int
    timedOut: int
    cancelled: int
    expired: int
    rejected: int


class JobBatchHeldReasons(TypedDict):
    """The same by what is missing."""

    noSignal: int
    signalTooWeak: int
    notDwelling: int


class JobBatchSkippedItem(TypedDict):
    deviceId: str
    reason: str
    """`device_disabled`, `model_mismatch`, `missing_variable` or `settings_too_large`."""
    variables: NotRequired[list[str]]
    """The variables without a value, for `missing_variable`."""


class JobBatchJob(TypedDict):
    id: str
    deviceId: str
    status: "JobStatus"


class JobBatch(TypedDict):
    id: str
    kind: "JobKind"
    status: Literal["scheduled", "running", "paused", "finished", "cancelled"]
    pauseReason: Literal["operator", "failures", "stage"] | None
    """Why the batch is paused. `stage`: it waits for an operator after a stage (`rollout.confirmStages`)."""
    target: "JobBatchTarget"
    targetName: str | None
    """The name of the group at the time of creation; null for devices."""
    profile: "JobBatchProfile | None"
    """The profile that an `apply_config` batch applies, with its name at the time of creation."""
    parameters: dict[str, Any]
    """Redacted: a download URL has no query."""
    schedule: "Schedule | None"
    rollout: "Rollout | None"
    delivery: "JobDelivery | None"
    """The good moment that the jobs wait for; null: they do not wait."""
    stages: "list[JobBatchStage]"
    total: int
    """Number of jobs, without skipped devices."""
    counts: "JobBatchCounts"
    createdBy: str
    """`key:…`, `person:…` or `user:…`."""
    createdByName: str | None
    """The name of the person, user or API key; null for others."""
    jobsUrl: str
    """URL of the list of all jobs in the batch."""
    createdAt: str
    finishedAt: str | None
    held: int
    """Dispatched jobs that wait for a good moment of their device."""
    heldReasons: "JobBatchHeldReasons"
    skipped: "list[JobBatchSkippedItem]"
    jobs: "list[JobBatchJob]"
    """The first 1,000 jobs, one for each device."""


JobStatus: TypeAlias = Literal[
    "queued",
    "dispatched",
    "inProgress",
    "succeeded",
    "failed",
    "timedOut",
    "cancelled",
    "expired",
    "rejected",
]


class FirmwareImage(TypedDict):
    id: str
    version: str
    url: str
    """The query is redacted."""
    sha256: str
    sizeBytes: int | None
    models: list[str]
    """The router models that can run the image; empty for any model."""
    notes: str | None
    createdBy: str
    """`key:…`, `person:…` or `user:…`."""
    createdAt: str


class FirmwareImagePage(TypedDict):
    items: "list[FirmwareImage]"
    nextCursor: str | None
    """Null on the last page."""


class CreateFirmwareImageRequest(TypedDict):
    version: str
    url: str
    sha256: str
    sizeBytes: NotRequired[int]
    models: NotRequired[list[str]]
    notes: NotRequired[str | None]


class FirmwareParameters(TypedDict):
    version: str
    url: str
    sha256: str
    sizeBytes: NotRequired[int]


class CreateJobBatchRequestReboot(TypedDict):
    kind: Literal["reboot"]
    parameters: NotRequired[dict[str, Any]]
    deviceIds: NotRequired[list[str]]
    filter: NotRequired["DeviceFilter"]
    """Replaces `deviceIds`: all devices that match when the request is made."""
    groupId: NotRequired[str]
    """A group whose effective members receive the job. Replaces `deviceIds`."""
    expiresInSeconds: NotRequired[int]
    """Time in which a device can start its job, from the first moment at which the schedule and the rollout let it. It
    starts again after a pause.
    """
    delivery: NotRequired["NewJobDelivery"]
    """Lets each device take its job at a good moment only: with good signal, or while it dwells."""
    schedule: NotRequired["Schedule"]
    rollout: NotRequired["Rollout"]


class CreateJobBatchRequestFirmwareUpdate(TypedDict):
    kind: Literal["firmware_update"]
    parameters: NotRequired["FirmwareParameters"]
    firmwareImageId: NotRequired[str]
    """An image of the catalogue, instead of `parameters`."""
    deviceIds: NotRequired[list[str]]
    filter: NotRequired["DeviceFilter"]
    """Replaces `deviceIds`: all devices that match when the request is made."""
    groupId: NotRequired[str]
    """A group whose effective members receive the job. Replaces `deviceIds`."""
    expiresInSeconds: NotRequired[int]
    """Time in which a device can start its job, from the first moment at which the schedule and the rollout let it. It
    starts again after a pause.
    """
    delivery: NotRequired["NewJobDelivery"]
    """Lets each device take its job at a good moment only: with good signal, or while it dwells."""
    schedule: NotRequired["Schedule"]
    rollout: NotRequired["Rollout"]


class CreateJobBatchRequestCollectDiagnostics(TypedDict):
    kind: Literal["collect_diagnostics"]
    parameters: NotRequired[dict[str, Any]]
    deviceIds: NotRequired[list[str]]
    filter: NotRequired["DeviceFilter"]
    """Replaces `deviceIds`: all devices that match when the request is made."""
    groupId: NotRequired[str]
    """A group whose effective members receive the job. Replaces `deviceIds`."""
    expiresInSeconds: NotRequired[int]
    """Time in which a device can start its job, from the first moment at which the schedule and the rollout let it. It
    starts again after a pause.
    """
    delivery: NotRequired["NewJobDelivery"]
    """Lets each device take its job at a good moment only: with good signal, or while it dwells."""
    schedule: NotRequired["Schedule"]
    rollout: NotRequired["Rollout"]


class CreateJobBatchRequestSpeedTest(TypedDict):
    kind: Literal["speed_test"]
    parameters: NotRequired[dict[str, Any]]
    deviceIds: NotRequired[list[str]]
    filter: NotRequired["DeviceFilter"]
    """Replaces `deviceIds`: all devices that match when the request is made."""
    groupId: NotRequired[str]
    """A group whose effective members receive the job. Replaces `deviceIds`."""
    expiresInSeconds: NotRequired[int]
    """Time in which a device can start its job, from the first moment at which the schedule and the rollout let it. It
    starts again after a pause.
    """
    delivery: NotRequired["NewJobDelivery"]
    """Lets each device take its job at a good moment only: with good signal, or while it dwells."""
    schedule: NotRequired["Schedule"]
    rollout: NotRequired["Rollout"]


CreateJobBatchRequest: TypeAlias = (
    "CreateJobBatchRequestReboot | "
    "CreateJobBatchRequestFirmwareUpdate | "
    "CreateJobBatchRequestCollectDiagnostics | "
    "CreateJobBatchRequestSpeedTest"
)


class JobBatchPlanTargetGroupId(TypedDict):
    groupId: str


class JobBatchPlanTargetDeviceIds(TypedDict):
    deviceIds: list[str]


class JobBatchPlanTargetFilterFilter(TypedDict):
    status: NotRequired["DeviceStatus"]
    q: NotRequired[str]
    tag: NotRequired[list[str]]
    placeId: NotRequired[str]
    configState: NotRequired[Literal["inSync", "pending", "differs", "unknown"]]
    groupId: NotRequired[str]
    firmware: NotRequired[str]
    bbox: NotRequired[list[float]]
    seenWithinMinutes: NotRequired[int]
    silentForMinutes: NotRequired[int]
    signal: NotRequired[list[str]]
    rat: NotRequired[str]
    plmn: NotRequired[str]
    modems: NotRequired[Literal["several", "withoutService"]]
    near: NotRequired[str]
    minTodayBytes: NotRequired[int]
    minMonthBytes: NotRequired[int]


class JobBatchPlanTargetFilter(TypedDict):
    filter: "JobBatchPlanTargetFilterFilter"


JobBatchPlanTarget: TypeAlias = (
    "JobBatchPlanTargetGroupId | "
    "JobBatchPlanTargetDeviceIds | "
    "JobBatchPlanTargetFilter"
)


class JobBatchPlanProfile(TypedDict):
    id: str
    version: int
    name: str | None


class JobBatchPlanSkippedItem(TypedDict):
    deviceId: str
    reason: str
    """`device_disabled`, `model_mismatch`, `missing_variable` or `settings_too_large`."""
    variables: NotRequired[list[str]]
    """The variables without a value, for `missing_variable`."""


class JobBatchPlanStage(TypedDict):
    devices: int
    earliestAt: str
    """When the stage starts at the earliest: the stages before it end at once. With `confirmStages`, an operator
    starts it.
    """


class JobBatchPlan(TypedDict):
    kind: "JobKind"
    target: "JobBatchPlanTarget"
    targetName: str | None
    """The name of the group at the time of creation; null for devices."""
    profile: "JobBatchPlanProfile | None"
    """The profile that an `apply_config` batch applies, with its name at the time of creation."""
    parameters: dict[str, Any]
    """Redacted: a download URL has no query."""
    schedule: "Schedule | None"
    rollout: "Rollout | None"
    delivery: "JobDelivery | None"
    """The good moment that the jobs wait for; null: they do not wait."""
    total: int
    """Number of jobs, without skipped devices."""
    skipped: "list[JobBatchPlanSkippedItem]"
    dryRun: Literal[True]
    skippedReasons: dict[str, int]
    """The number of skipped devices by reason."""
    stages: "list[JobBatchPlanStage]"
    """One stage if the rollout has none; none without jobs."""


class CreateGroupJobsRequestReboot(TypedDict):
    kind: Literal["reboot"]
    parameters: NotRequired[dict[str, Any]]
    expiresInSeconds: NotRequired[int]
    """Time in which a device can start its job, from the first moment at which the schedule and the rollout let it. It
    starts again after a pause.
    """
    delivery: NotRequired["NewJobDelivery"]
    """Lets each device take its job at a good moment only: with good signal, or while it dwells."""
    schedule: NotRequired["Schedule"]
    rollout: NotRequired["Rollout"]


class CreateGroupJobsRequestFirmwareUpdate(TypedDict):
    kind: Literal["firmware_update"]
    parameters: NotRequired["FirmwareParameters"]
    firmwareImageId: NotRequired[str]
    """An image of the catalogue, instead of `parameters`."""
    expiresInSeconds: NotRequired[int]
    """Time in which a device can start its job, from the first moment at which the schedule and the rollout let it. It
    starts again after a pause.
    """
    delivery: NotRequired["NewJobDelivery"]
    """Lets each device take its job at a good moment only: with good signal, or while it dwells."""
    schedule: NotRequired["Schedule"]
    rollout: NotRequired["Rollout"]


class CreateGroupJobsRequestCollectDiagnostics(TypedDict):
    kind: Literal["collect_diagnostics"]
    parameters: NotRequired[dict[str, Any]]
    expiresInSeconds: NotRequired[int]
    """Time in which a device can start its job, from the first moment at which the schedule and the rollout let it. It
    starts again after a pause.
    """
    delivery: NotRequired["NewJobDelivery"]
    """Lets each device take its job at a good moment only: with good signal, or while it dwells."""
    schedule: NotRequired["Schedule"]
    rollout: NotRequired["Rollout"]


class CreateGroupJobsRequestSpeedTest(TypedDict):
    kind: Literal["speed_test"]
    parameters: NotRequired[dict[str, Any]]
    expiresInSeconds: NotRequired[int]
    """Time in which a device can start its job, from the first moment at which the schedule and the rollout let it. It
    starts again after a pause.
    """
    delivery: NotRequired["NewJobDelivery"]
    """Lets each device take its job at a good moment only: with good signal, or while it dwells."""
    schedule: NotRequired["Schedule"]
    rollout: NotRequired["Rollout"]


CreateGroupJobsRequest: TypeAlias = (
    "CreateGroupJobsRequestReboot | "
    "CreateGroupJobsRequestFirmwareUpdate | "
    "CreateGroupJobsRequestCollectDiagnostics | "
    "CreateGroupJobsRequestSpeedTest"
)


class CreateDeviceJobRequestReboot(TypedDict):
    kind: Literal["reboot"]
    parameters: NotRequired[dict[str, Any]]
    expiresInSeconds: NotRequired[int]
    """Time in which a device can start its job, from the first moment at which the schedule and the rollout let it. It
    starts again after a pause.
    """
    delivery: NotRequired["NewJobDelivery"]
    """Lets each device take its job at a good moment only: with good signal, or while it dwells."""


class CreateDeviceJobRequestFirmwareUpdate(TypedDict):
    kind: Literal["firmware_update"]
    parameters: NotRequired["FirmwareParameters"]
    firmwareImageId: NotRequired[str]
    """An image of the catalogue, instead of `parameters`."""
    expiresInSeconds: NotRequired[int]
    """Time in which a device can start its job, from the first moment at which the schedule and the rollout let it. It
    starts again after a pause.
    """
    delivery: NotRequired["NewJobDelivery"]
    """Lets each device take its job at a good moment only: with good signal, or while it dwells."""


class CreateDeviceJobRequestCollectDiagnostics(TypedDict):
    kind: Literal["collect_diagnostics"]
    parameters: NotRequired[dict[str, Any]]
    expiresInSeconds: NotRequired[int]
    """Time in which a device can start its job, from the first moment at which the schedule and the rollout let it. It
    starts again after a pause.
    """
    delivery: NotRequired["NewJobDelivery"]
    """Lets each device take its job at a good moment only: with good signal, or while it dwells."""


class CreateDeviceJobRequestSpeedTest(TypedDict):
    kind: Literal["speed_test"]
    parameters: NotRequired[dict[str, Any]]
    expiresInSeconds: NotRequired[int]
    """Time in which a device can start its job, from the first moment at which the schedule and the rollout let it. It
    starts again after a pause.
    """
    delivery: NotRequired["NewJobDelivery"]
    """Lets each device take its job at a good moment only: with good signal, or while it dwells."""


CreateDeviceJobRequest: TypeAlias = (
    "CreateDeviceJobRequestReboot | "
    "CreateDeviceJobRequestFirmwareUpdate | "
    "CreateDeviceJobRequestCollectDiagnostics | "
    "CreateDeviceJobRequestSpeedTest"
)


class JobError(TypedDict):
    code: str
    """`failed`, `rejected`, `deadline_exceeded`, `expired`, `device_disabled`, `profile_gone`, or of a cancelled job
    `device_gone` or `rollout_aborted`.
    """
    detail: str | None


class Job(TypedDict):
    id: str
    batchId: str | None
    organizationId: str
    deviceId: str
    kind: "JobKind"
    status: "JobStatus"
    attempt: int
    maxAttempts: int
    parameters: dict[str, Any]
    """Redacted: a download URL has no query, and `apply_config` shows only the profile and version."""
    progress: int | None
    """Progress in percent, as reported by the device."""
    result: Any
    """The result reported by the device; null until the job ends."""
    error: "JobError | None"
    cancelRequested: bool
    expiresAt: str
    """The job expires if the device does not start it by this time. While its batch holds it back, this is the expiry
    of a job that may start at the next possible time.
    """
    delivery: "JobDelivery | None"
    """The good moment that the job waits for; null: it does not wait."""
    heldBecause: "JobHeldReason | None"
    """Why the device may not take the job yet: it reported no signal in the last 2 minutes, its signal is weaker than
    `minQuality`, or it does not dwell. Null when it may, while its batch holds it back, and after it was taken.
    """
    createdAt: str
    updatedAt: str
    finishedAt: str | None


# Later versions can add values: accept values that you do not know.
JobHeldReason: TypeAlias = Literal["noSignal", "signalTooWeak", "notDwelling"]


class JobPage(TypedDict):
    items: "list[Job]"
    nextCursor: str | None
    """Null on the last page."""


class JobWithHistoryError(TypedDict):
    code: str
    """`failed`, `rejected`, `deadline_exceeded`, `expired`, `device_disabled`, `profile_gone`, or of a cancelled job
    `device_gone` or `rollout_aborted`.
    """
    detail: str | None


class JobWithHistoryHistoryItem(TypedDict):
    status: "JobStatus"
    at: str
    by: str


class JobWithHistory(TypedDict):
    id: str
    batchId: str | None
    organizationId: str
    deviceId: str
    kind: "JobKind"
    status: "JobStatus"
    attempt: int
    maxAttempts: int
    parameters: dict[str, Any]
    """Redacted: a download URL has no query, and `apply_config` shows only the profile and version."""
    progress: int | None
    """Progress in percent, as reported by the device."""
    result: Any
    """The result reported by the device; null until the job ends."""
    error: "JobWithHistoryError | None"
    cancelRequested: bool
    expiresAt: str
    """The job expires if the device does not start it by this time. While its batch holds it back, this is the expiry
    of a job that may start at the next possible time.
    """
    delivery: "JobDelivery | None"
    """The good moment that the job waits for; null: it does not wait."""
    heldBecause: "JobHeldReason | None"
    """Why the device may not take the job yet: it reported no signal in the last 2 minutes, its signal is weaker than
    `minQuality`, or it does not dwell. Null when it may, while its batch holds it back, and after it was taken.
    """
    createdAt: str
    updatedAt: str
    finishedAt: str | None
    history: "list[JobWithHistoryHistoryItem]"
    """All statuses of the job, oldest first."""


class JobBatchSummaryTargetGroupId(TypedDict):
    groupId: str


class JobBatchSummaryTarget2(TypedDict):
    """The number of devices, and the device if it is one. `GET …/job-batches/{id}` has all ids."""

    deviceCount: int
    deviceId: str | None


class JobBatchSummaryTargetFilterFilter(TypedDict):
    status: NotRequired["DeviceStatus"]
    q: NotRequired[str]
    tag: NotRequired[list[str]]
    placeId: NotRequired[str]
    configState: NotRequired[Literal["inSync", "pending", "differs", "unknown"]]
    groupId: NotRequired[str]
    firmware: NotRequired[str]
    bbox: NotRequired[list[float]]
    seenWithinMinutes: NotRequired[int]
    silentForMinutes: NotRequired[int]
    signal: NotRequired[list[str]]
    rat: NotRequired[str]
    plmn: NotRequired[str]
    modems: NotRequired[Literal["several", "withoutService"]]
    near: NotRequired[str]
    minTodayBytes: NotRequired[int]
    minMonthBytes: NotRequired[int]


class JobBatchSummaryTargetFilter(TypedDict):
    filter: "JobBatchSummaryTargetFilterFilter"


JobBatchSummaryTarget: TypeAlias = (
    "JobBatchSummaryTargetGroupId | "
    "JobBatchSummaryTarget2 | "
    "JobBatchSummaryTargetFilter"
)


class JobBatchSummaryProfile(TypedDict):
    id: str
    version: int
    name: str | None


class JobBatchSummaryStage(TypedDict):
    devices: int
    status: Literal["waiting", "running", "finished", "stopped"]
    startedAt: str | None
    endedAt: str | None


class JobBatchSummaryCounts(TypedDict):
    queued: int
    dispatched: int
    inProgress: int
    succeeded: int
    failed: int
    timedOut: int
    cancelled: int
    expired: int
    rejected: int


class JobBatchSummary(TypedDict):
    id: str
    kind: "JobKind"
    status: Literal["scheduled", "running", "paused", "finished", "cancelled"]
    pauseReason: Literal["operator", "failures", "stage"] | None
    """Why the batch is paused. `stage`: it waits for an operator after a stage (`rollout.confirmStages`)."""
    target: "JobBatchSummaryTarget"
    targetName: str | None
    """The name of the group at the time of creation; null for devices."""
    profile: "JobBatchSummaryProfile | None"
    """The profile that an `apply_config` batch applies, with its name at the time of creation."""
    parameters: dict[str, Any]
    """Redacted: a download URL has no query."""
    schedule: "Schedule | None"
    rollout: "Rollout | None"
    delivery: "JobDelivery | None"
    """The good moment that the jobs wait for; null: they do not wait."""
    stages: "list[JobBatchSummaryStage]"
    """The stages of the rollout; empty without `canary` and `stages`."""
    total: int
    """Number of jobs, without skipped devices."""
    counts: "JobBatchSummaryCounts"
    createdBy: str
    """`key:…`, `person:…` or `user:…`."""
    createdByName: str | None
    """The name of the person, user or API key; null for others."""
    jobsUrl: str
    """URL of the list of all jobs in the batch."""
    createdAt: str
    finishedAt: str | None


class JobBatchSummaryPage(TypedDict):
    items: "list[JobBatchSummary]"
    nextCursor: str | None
    """Null on the last page."""


class AlertRuleChannels(TypedDict):
    webhook: bool
    emails: list[str]
    chats: list[str]
    """Ids of chat channels."""


class AlertRuleUnconfirmedEmail(TypedDict):
    email: str
    state: Literal["waiting", "refused"]


class AlertRule(TypedDict):
    id: str
    name: str
    enabled: bool
    """Disabling a rule closes its alerts."""
    severity: "AlertSeverity"
    condition: "AlertCondition"
    groupId: str | None
    """Only devices of this group; null for all devices."""
    tags: list[str]
    channels: "AlertRuleChannels"
    quietHours: "DailyWindow | None"
    """E-mail and chat messages are sent after these hours. The inbox and webhooks do not wait."""
    unconfirmedEmails: "list[AlertRuleUnconfirmedEmail]"
    """The addresses of `channels.emails` that receive no alerts, because their owner has not confirmed them."""
    mailMissing: bool
    """The rule names e-mail addresses, but no worker with a mail server (`SMTP_URL`) has run in the last five minutes.
    """
    createdAt: str
    updatedAt: str


class AlertConditionOffline(TypedDict):
    kind: Literal["offline"]
    forMinutes: int
    """How long the condition must hold before an alert opens."""


class AlertConditionNoFix(TypedDict):
    kind: Literal["no_fix"]
    forMinutes: int
    """How long the condition must hold before an alert opens."""


class AlertConditionWeakSignal(TypedDict):
    kind: Literal["weak_signal"]
    rsrpBelowDbm: float
    forMinutes: int
    """How long the condition must hold before an alert opens."""


class AlertConditionHighTemperature(TypedDict):
    kind: Literal["high_temperature"]
    temperatureAboveC: float
    forMinutes: int
    """How long the condition must hold before an alert opens."""


class AlertConditionLowVoltage(TypedDict):
    kind: Literal["low_voltage"]
    voltageBelowV: float
    forMinutes: int
    """How long the condition must hold before an alert opens."""


class AlertConditionModemDown(TypedDict):
    """A modem that was seen in the last 24 hours is without service, or without a report, while its device reports.
    """

    kind: Literal["modem_down"]
    forMinutes: int
    """How long the condition must hold before an alert opens."""


class AlertConditionEnteredPlace(TypedDict):
    kind: Literal["entered_place"]
    placeId: str
    forMinutes: int
    """How long the condition must hold before an alert opens."""


class AlertConditionLeftPlace(TypedDict):
    kind: Literal["left_place"]
    placeId: str
    forMinutes: int
    """How long the condition must hold before an alert opens."""


class AlertConditionRadioFault(TypedDict):
    """The last comparison of radios found a modem of the device to be a `fault`. See radio health."""

    kind: Literal["radio_fault"]


class AlertConditionJobFailed(TypedDict):
    """A job of the last 7 days did not succeed, and none of its kind succeeded afterwards on the device."""

    kind: Literal["job_failed"]


class AlertConditionProfileNotApplied(TypedDict):
    """The device has an earlier version of its configuration profile than the newest."""

    kind: Literal["profile_not_applied"]
    forMinutes: int
    """How long the condition must hold before an alert opens."""


class AlertConditionConfigDiffers(TypedDict):
    """The device says that it runs another configuration than was applied to it."""

    kind: Literal["config_differs"]
    forMinutes: int
    """How long the condition must hold before an alert opens."""


class AlertConditionRebooted(TypedDict):
    """The device has started again. The alert closes 24 hours after the last restart was noticed."""

    kind: Literal["rebooted"]


class AlertConditionSimChanged(TypedDict):
    """A modem has a SIM that it did not have in the 24 hours before. The alert closes after 24 hours."""

    kind: Literal["sim_changed"]


class AlertConditionOperatorChanged(TypedDict):
    """A modem is registered with an operator that it did not have in the 24 hours before. The alert closes after 24
    hours.
    """

    kind: Literal["operator_changed"]


class AlertConditionWebhookDisabled(TypedDict):
    """The service disabled a webhook of the organization. The rule has neither a group nor tags."""

    kind: Literal["webhook_disabled"]
    forMinutes: int
    """How long the condition must hold before an alert opens."""


class AlertConditionDataUse(TypedDict):
    kind: Literal["data_use"]
    aboveMegabytes: float
    period: Literal["day", "month"]
    """In UTC."""


AlertCondition: TypeAlias = (
    "AlertConditionOffline | "
    "AlertConditionNoFix | "
    "AlertConditionWeakSignal | "
    "AlertConditionHighTemperature | "
    "AlertConditionLowVoltage | "
    "AlertConditionModemDown | "
    "AlertConditionEnteredPlace | "
    "AlertConditionLeftPlace | "
    "AlertConditionRadioFault | "
    "AlertConditionJobFailed | "
    "AlertConditionProfileNotApplied | "
    "AlertConditionConfigDiffers | "
    "AlertConditionRebooted | "
    "AlertConditionSimChanged | "
    "AlertConditionOperatorChanged | "
    "AlertConditionWebhookDisabled | "
    "AlertConditionDataUse"
)


AlertSeverity: TypeAlias = Literal["info", "warning", "critical"]


class AlertRulePage(TypedDict):
    items: "list[AlertRule]"
    nextCursor: str | None
    """Null on the last page."""


class CreateAlertRuleRequestChannels(TypedDict):
    """The inbox always receives alerts."""

    webhook: NotRequired[bool]
    """Send `alert.opened` and `alert.closed` to webhooks."""
    emails: NotRequired[list[str]]
    """The owner of a new address receives a link, and alerts after confirming the address with it."""
    chats: NotRequired[list[str]]
    """Ids of the chat channels that receive a message. Without it, a change keeps them."""


class CreateAlertRuleRequest(TypedDict):
    name: str
    condition: "AlertCondition"
    enabled: NotRequired[bool]
    """Disabling a rule closes its alerts."""
    severity: NotRequired[Literal["info", "warning", "critical"]]
    groupId: NotRequired[str | None]
    """Only devices of this group; null for all devices."""
    tags: NotRequired[list[str]]
    """Only devices that have all of these tags."""
    channels: NotRequired["CreateAlertRuleRequestChannels"]
    quietHours: NotRequired["DailyWindow | None"]
    """E-mail and chat messages are sent after these hours. The inbox and webhooks do not wait."""


class UpdateAlertRuleRequestChannels(TypedDict):
    """The inbox always receives alerts."""

    webhook: NotRequired[bool]
    """Send `alert.opened` and `alert.closed` to webhooks."""
    emails: NotRequired[list[str]]
    """The owner of a new address receives a link, and alerts after confirming the address with it."""
    chats: NotRequired[list[str]]
    """Ids of the chat channels that receive a message. Without it, a change keeps them."""


class UpdateAlertRuleRequest(TypedDict):
    name: NotRequired[str]
    enabled: NotRequired[bool]
    """Disabling a rule closes its alerts."""
    severity: NotRequired["AlertSeverity"]
    condition: NotRequired["AlertCondition"]
    groupId: NotRequired[str | None]
    """Only devices of this group; null for all devices."""
    tags: NotRequired[list[str]]
    """Only devices that have all of these tags."""
    channels: NotRequired["UpdateAlertRuleRequestChannels"]
    quietHours: NotRequired["DailyWindow | None"]
    """E-mail and chat messages are sent after these hours. The inbox and webhooks do not wait."""


class Alert(TypedDict):
    id: str
    organizationId: str
    ruleId: str
    """The rule. It can have been deleted since."""
    ruleName: str
    kind: "AlertKind"
    severity: "AlertSeverity"
    state: Literal["open", "acknowledged", "closed"]
    deviceId: str | None
    """Null for `webhook_disabled`, which is about a webhook and not about a device."""
    deviceName: str | None
    """Null if the device belongs to another organization now, or if the alert is about no device."""
    since: str
    """Since when the condition holds."""
    openedAt: str
    measured: dict[str, Any]
    """What was measured when the alert opened, for example `rsrpDbm` or `lastSeenAt`."""
    near: "Near | None"
    """The town that was nearest to the last position of the device when the alert opened. Null without a position.
    """
    acknowledgedAt: str | None
    acknowledgedBy: str | None
    """`key:…`, `person:…` or `user:…`."""
    acknowledgedByName: str | None
    """The name of the person, user or API key; null for others."""
    closedAt: str | None
    closedBy: str | None
    """`key:…`, `person:…`, `user:…` or `system`."""
    closedByName: str | None
    """The name of the person, user or API key; null for others."""
    closeReason: "AlertCloseReason | None"
    comment: str | None
    """What a person wrote about the alert."""
    assignee: str | None
    """Who takes care of the alert, as a person wrote it."""
    endedAt: str | None
    """When the condition ended."""


# Later versions can add values: accept values that you do not know.
AlertCloseReason: TypeAlias = Literal[
    "closed_by_user",
    "condition_ended",
    "out_of_scope",
    "rule_changed",
    "rule_disabled",
    "rule_deleted",
]


# Later versions can add values: accept values that you do not know.
AlertKind: TypeAlias = Literal[
    "offline",
    "no_fix",
    "weak_signal",
    "high_temperature",
    "low_voltage",
    "modem_down",
    "entered_place",
    "left_place",
    "radio_fault",
    "job_failed",
    "profile_not_applied",
    "config_differs",
    "rebooted",
    "sim_changed",
    "operator_changed",
    "webhook_disabled",
    "data_use",
]


class AlertPage(TypedDict):
    items: "list[Alert]"
    nextCursor: str | None
    """Null on the last page."""


class AlertCountsBySeverityInfo(TypedDict):
    open: int
    acknowledged: int


class AlertCountsBySeverityWarning(TypedDict):
    open: int
    acknowledged: int


class AlertCountsBySeverityCritical(TypedDict):
    open: int
    acknowledged: int


class AlertCountsBySeverity(TypedDict):
    info: "AlertCountsBySeverityInfo"
    warning: "AlertCountsBySeverityWarning"
    critical: "AlertCountsBySeverityCritical"


class AlertCounts(TypedDict):
    open: int
    acknowledged: int
    bySeverity: "AlertCountsBySeverity"


class UpdateAlertRequest(TypedDict):
    comment: NotRequired[str | None]
    """What you write about the alert; null removes it."""
    assignee: NotRequired[str | None]
    """Who takes care of the alert, for example a name or an e-mail address; null removes it."""


class AcknowledgeAlertsRequestFilter(TypedDict):
    """Replaces `alertIds`: all open alerts that match."""

    ruleId: NotRequired[str]
    deviceId: NotRequired[str]
    groupId: NotRequired[str]
    """Only alerts of the devices that are in this group now."""
    severity: NotRequired["AlertSeverity"]
    assignee: NotRequired[str]
    since: NotRequired[str]
    """Alerts that opened at this time or later."""
    until: NotRequired[str]
    """Alerts that opened at this time or earlier."""


class AcknowledgeAlertsRequest(TypedDict):
    alertIds: NotRequired[list[str]]
    filter: NotRequired["AcknowledgeAlertsRequestFilter"]
    comment: NotRequired[str | None]
    """What you write about the alert; null removes it."""
    assignee: NotRequired[str | None]
    """Who takes care of the alert, for example a name or an e-mail address; null removes it."""


class HandledAlertsResult(TypedDict):
    alertId: str
    outcome: Literal["changed", "unchanged", "closed", "not_found"]
    """`unchanged`: it was so already. `closed`: it cannot be acknowledged any more."""


class HandledAlerts(TypedDict):
    changed: int
    """How many alerts were changed."""
    results: "list[HandledAlertsResult]"
    """One for each alert of `alertIds` in their order, or for each that matched, oldest first."""
    hasMore: bool
    """More than 1,000 alerts matched `filter`. The others were not changed; send the request again."""


class CloseAlertsRequestFilter(TypedDict):
    """Replaces `alertIds`: all alerts that match and are not closed."""

    state: NotRequired[list[Literal["open", "acknowledged"]]]
    ruleId: NotRequired[str]
    deviceId: NotRequired[str]
    groupId: NotRequired[str]
    """Only alerts of the devices that are in this group now."""
    severity: NotRequired["AlertSeverity"]
    assignee: NotRequired[str]
    since: NotRequired[str]
    """Alerts that opened at this time or later."""
    until: NotRequired[str]
    """Alerts that opened at this time or earlier."""


class CloseAlertsRequest(TypedDict):
    alertIds: NotRequired[list[str]]
    filter: NotRequired["CloseAlertsRequestFilter"]
    comment: NotRequired[str | None]
    """What you write about the alert; null removes it."""


class AlertAddressLastTest(TypedDict):
    state: Literal["waiting", "sent", "failed"]
    at: str
    """When it was sent or given up, or when it was requested while it waits."""
    error: str | None
    """Why it was given up; null otherwise."""


class AlertAddress(TypedDict):
    email: str
    """In lower case."""
    state: Literal["waiting", "confirmed", "refused"]
    """Only confirmed addresses receive alerts."""
    confirmedBy: Literal["link", "sign_in", "upgrade"] | None
    """The owner used a link, signed in with the address, or received alerts before confirmations existed. Null if not
    confirmed.
    """
    changedAt: str
    """When the state changed."""
    requestedAt: str | None
    """When the last message with a link was requested."""
    lastTest: "AlertAddressLastTest | None"
    """The last test message; null if there was none."""
    sentAt: str | None
    """When the last message with a link was sent."""


class AlertAddressPage(TypedDict):
    items: "list[AlertAddress]"
    nextCursor: str | None
    """Null on the last page."""


class SendAlertAddressConfirmationRequest(TypedDict):
    email: str


class TestAlertAddressRequest(TypedDict):
    email: str


class AnswerAlertAddressLinkRequest(TypedDict):
    link: str
    """The token of the link."""
    answer: NotRequired[Literal["confirm", "refuse"]]
    """After `refuse`, the organization cannot write to the address until the link confirms it."""


class LinkedAddress(TypedDict):
    email: str
    organizationName: str
    state: Literal["waiting", "confirmed", "refused"]


class ChatChannelLastTest(TypedDict):
    state: Literal["waiting", "sent", "failed"]
    at: str
    """When it was sent or given up, or when it was requested while it waits."""
    error: str | None
    """Why the last attempt failed; null otherwise."""


class ChatChannelLastAlert(TypedDict):
    state: Literal["waiting", "sent", "failed"]
    at: str
    """When it was sent or given up, or when it was requested while it waits."""
    error: str | None
    """Why the last attempt failed; null otherwise."""


class ChatChannel(TypedDict):
    id: str
    name: str
    kind: "ChatKind"
    host: str
    """The host of the URL. The URL is not returned."""
    lastTest: "ChatChannelLastTest | None"
    """The last test; null if there was none in the last three days."""
    lastAlert: "ChatChannelLastAlert | None"
    """The last message about alerts; null if there was none in the last three days."""
    createdAt: str


# Later versions can add values: accept values that you do not know.
ChatKind: TypeAlias = Literal["slack", "teams", "mattermost"]


class ChatChannelPage(TypedDict):
    items: "list[ChatChannel]"
    nextCursor: str | None
    """Null on the last page."""


class CreateChatChannelRequest(TypedDict):
    name: str
    kind: "ChatKind"
    url: str
    """The URL of the incoming webhook: a public https URL. It is not returned."""


class UpdateChatChannelRequest(TypedDict):
    name: NotRequired[str]
    url: NotRequired[str]
    """The URL of the incoming webhook: a public https URL. It is not returned."""


# Later versions can add values: accept values that you do not know.
WebhookEvent: TypeAlias = Literal[
    "device.status_changed",
    "device.created",
    "device.deleted",
    "device.transferred",
    "job.finished",
    "job_batch.finished",
    "dwell.started",
    "dwell.ended",
    "quota.reached",
    "alert.opened",
    "alert.closed",
]


class CreateWebhookRequest(TypedDict):
    url: str
    """A public https URL."""
    events: "list[WebhookEvent]"
    description: NotRequired[str | None]


class NewWebhook(TypedDict):
    id: str
    url: str
    events: "list[WebhookEvent]"
    description: str | None
    confirmedAt: str | None
    """When the receiver accepted the first delivery. Null before; then a failed attempt delays all others."""
    disabledAt: str | None
    """When the webhook was disabled; null while it is active."""
    disabledReason: str | None
    oldSecretExpiresAt: str | None
    """Until when the secret before the last rotation also signs deliveries. Null if it does not."""
    createdAt: str
    secret: str
    """`whsec_…`; returned only once."""


class Webhook(TypedDict):
    id: str
    url: str
    events: "list[WebhookEvent]"
    description: str | None
    confirmedAt: str | None
    """When the receiver accepted the first delivery. Null before; then a failed attempt delays all others."""
    disabledAt: str | None
    """When the webhook was disabled; null while it is active."""
    disabledReason: str | None
    oldSecretExpiresAt: str | None
    """Until when the secret before the last rotation also signs deliveries. Null if it does not."""
    createdAt: str


class WebhookPage(TypedDict):
    items: "list[Webhook]"
    nextCursor: str | None
    """Null on the last page."""


class UpdateWebhookRequest(TypedDict):
    events: NotRequired["list[WebhookEvent]"]
    description: NotRequired[str | None]
    enabled: NotRequired[bool]


class RotateWebhookSecretRequest(TypedDict):
    oldSecretExpiresInMinutes: NotRequired[int]
    """How long the old secret also signs deliveries. 0 ends it at once."""


class WebhookDelivery(TypedDict):
    id: str
    eventId: str
    """The `webhook-id` header, the same for every attempt."""
    type: str
    """The event type, or `webhook.test`."""
    data: dict[str, Any]
    """The `data` of the event."""
    status: Literal["delivered", "pending", "failed"]
    """`failed`: there is no further attempt."""
    attempts: int
    lastError: str | None
    createdAt: str
    deliveredAt: str | None
    nextAttemptAt: str | None
    """Null unless the delivery is pending."""
    event: "DeviceStatusChangedEvent | DeviceCreatedEvent | DeviceDeletedEvent | DeviceTransferredEvent | JobFinishedEvent | JobBatchFinishedEvent | DwellStartedEvent | DwellEndedEvent | QuotaReachedEvent | AlertOpenedEvent | AlertClosedEvent | WebhookTestEvent"
    """The body, as it is sent."""


# The status of a device changed, automatically or by a request.
DeviceStatusChangedEventData = TypedDict(
    "DeviceStatusChangedEventData",
    {
        "deviceId": str,
        "from": "DeviceStatus",
        "to": "DeviceStatus",
        "reason": str,
    },
)


class DeviceStatusChangedEvent(TypedDict):
    """The status of a device changed, automatically or by a request."""

    type: Literal["device.status_changed"]
    timestamp: str
    organizationId: str
    data: "DeviceStatusChangedEventData"


class DeviceCreatedEventData(TypedDict):
    """A device was created."""

    deviceId: str
    serial: str
    name: str
    model: str


class DeviceCreatedEvent(TypedDict):
    """A device was created."""

    type: Literal["device.created"]
    timestamp: str
    organizationId: str
    data: "DeviceCreatedEventData"


class DeviceDeletedEventData(TypedDict):
    """A device was deleted."""

    deviceId: str
    serial: str
    name: str


class DeviceDeletedEvent(TypedDict):
    """A device was deleted."""

    type: Literal["device.deleted"]
    timestamp: str
    organizationId: str
    data: "DeviceDeletedEventData"


class DeviceTransferredEventData(TypedDict):
    """A device moved to another organization. Both organizations receive the event."""

    deviceId: str
    serial: str
    fromOrganizationId: str
    toOrganizationId: str
    reason: str | None


class DeviceTransferredEvent(TypedDict):
    """A device moved to another organization. Both organizations receive the event."""

    type: Literal["device.transferred"]
    timestamp: str
    organizationId: str
    data: "DeviceTransferredEventData"


class JobFinishedEventData(TypedDict):
    """A job reached its final status."""

    jobId: str
    batchId: str | None
    deviceId: str
    kind: "JobKind"
    status: "JobStatus"
    attempt: int


class JobFinishedEvent(TypedDict):
    """A job reached its final status."""

    type: Literal["job.finished"]
    timestamp: str
    organizationId: str
    data: "JobFinishedEventData"


class JobBatchFinishedEventDataCounts(TypedDict):
    queued: int
    dispatched: int
    inProgress: int
    succeeded: int
    failed: int
    timedOut: int
    cancelled: int
    expired: int
    rejected: int


class JobBatchFinishedEventData(TypedDict):
    """The last job of a batch reached its final status."""

    batchId: str
    kind: "JobKind"
    status: Literal["finished", "cancelled"]
    total: int
    counts: "JobBatchFinishedEventDataCounts"


class JobBatchFinishedEvent(TypedDict):
    """The last job of a batch reached its final status."""

    type: Literal["job_batch.finished"]
    timestamp: str
    organizationId: str
    data: "JobBatchFinishedEventData"


class DwellStartedEventData(TypedDict):
    """A dwell was detected, some minutes after the device arrived."""

    deviceId: str
    dwellId: str
    arrivedAt: str
    lat: float
    lon: float
    radiusM: float


class DwellStartedEvent(TypedDict):
    """A dwell was detected, some minutes after the device arrived."""

    type: Literal["dwell.started"]
    timestamp: str
    organizationId: str
    data: "DwellStartedEventData"


class DwellEndedEventData(TypedDict):
    """The device left a dwell."""

    deviceId: str
    dwellId: str
    arrivedAt: str
    lat: float
    lon: float
    radiusM: float
    departedAt: str | None
    """Null if late reports revoked the dwell."""


class DwellEndedEvent(TypedDict):
    """The device left a dwell."""

    type: Literal["dwell.ended"]
    timestamp: str
    organizationId: str
    data: "DwellEndedEventData"


class QuotaReachedEventData(TypedDict):
    """The organization reached its device quota."""

    limit: int
    used: int


class QuotaReachedEvent(TypedDict):
    """The organization reached its device quota."""

    type: Literal["quota.reached"]
    timestamp: str
    organizationId: str
    data: "QuotaReachedEventData"


class AlertOpenedEventData(TypedDict):
    """An alert opened."""

    ruleId: str
    """The rule. It can have been deleted since."""
    ruleName: str
    kind: "AlertKind"
    severity: "AlertSeverity"
    state: Literal["open", "acknowledged", "closed"]
    deviceId: str | None
    """Null for `webhook_disabled`, which is about a webhook and not about a device."""
    deviceName: str | None
    """Null if the device belongs to another organization now, or if the alert is about no device."""
    since: str
    """Since when the condition holds."""
    openedAt: str
    measured: dict[str, Any]
    """What was measured when the alert opened, for example `rsrpDbm` or `lastSeenAt`."""
    near: "Near | None"
    """The town that was nearest to the last position of the device when the alert opened. Null without a position.
    """
    acknowledgedAt: str | None
    acknowledgedBy: str | None
    """`key:…`, `person:…` or `user:…`."""
    acknowledgedByName: str | None
    """The name of the person, user or API key; null for others."""
    closedAt: str | None
    closedBy: str | None
    """`key:…`, `person:…`, `user:…` or `system`."""
    closedByName: str | None
    """The name of the person, user or API key; null for others."""
    closeReason: "AlertCloseReason | None"
    comment: str | None
    """What a person wrote about the alert."""
    assignee: str | None
    """Who takes care of the alert, as a person wrote it."""
    endedAt: str | None
    """When the condition ended."""
    alertId: str


class AlertOpenedEvent(TypedDict):
    """An alert opened."""

    type: Literal["alert.opened"]
    timestamp: str
    organizationId: str
    data: "AlertOpenedEventData"


class AlertClosedEventData(TypedDict):
    """An alert closed, by itself or by a request."""

    ruleId: str
    """The rule. It can have been deleted since."""
    ruleName: str
    kind: "AlertKind"
    severity: "AlertSeverity"
    state: Literal["open", "acknowledged", "closed"]
    deviceId: str | None
    """Null for `webhook_disabled`, which is about a webhook and not about a device."""
    deviceName: str | None
    """Null if the device belongs to another organization now, or if the alert is about no device."""
    since: str
    """Since when the condition holds."""
    openedAt: str
    measured: dict[str, Any]
    """What was measured when the alert opened, for example `rsrpDbm` or `lastSeenAt`."""
    near: "Near | None"
    """The town that was nearest to the last position of the device when the alert opened. Null without a position.
    """
    acknowledgedAt: str | None
    acknowledgedBy: str | None
    """`key:…`, `person:…` or `user:…`."""
    acknowledgedByName: str | None
    """The name of the person, user or API key; null for others."""
    closedAt: str | None
    closedBy: str | None
    """`key:…`, `person:…`, `user:…` or `system`."""
    closedByName: str | None
    """The name of the person, user or API key; null for others."""
    closeReason: "AlertCloseReason | None"
    comment: str | None
    """What a person wrote about the alert."""
    assignee: str | None
    """Who takes care of the alert, as a person wrote it."""
    endedAt: str | None
    """When the condition ended."""
    alertId: str


class AlertClosedEvent(TypedDict):
    """An alert closed, by itself or by a request."""

    type: Literal["alert.closed"]
    timestamp: str
    organizationId: str
    data: "AlertClosedEventData"


class WebhookTestEventData(TypedDict):
    """A person sent a test event. Webhooks need no subscription."""

    webhookId: str


class WebhookTestEvent(TypedDict):
    """A person sent a test event. Webhooks need no subscription."""

    type: Literal["webhook.test"]
    timestamp: str
    organizationId: str
    data: "WebhookTestEventData"


class WebhookDeliveryPage(TypedDict):
    items: "list[WebhookDelivery]"
    nextCursor: str | None
    """Null on the last page."""


class LatestTelemetryConnection(TypedDict):
    ts: str
    ageMs: float
    receivedAt: str
    completedFrom: str | None
    """Time of the oldest sample that gave a field. A field that the newest sample lacks is taken from samples up to
    two minutes older, but not from another RAT, PLMN or cell. Null if the newest sample gave all fields.
    """
    tsCorrected: bool
    modem: str | None
    """Name by which the router tells its modems apart; left out by a router with one modem"""
    simPlmn: str | None
    """Mobile country and network code of the operator that issued the SIM"""
    state: "ConnectionState | None"
    """State of the uplink"""
    interface: str | None
    """Interface the uplink runs on"""
    rat: "RadioAccessTechnology | None"
    """Radio access technology; none means no service"""
    registration: "Registration | None"
    """Registration with the network"""
    operatorName: str | None
    """Name the network announces"""
    plmn: str | None
    """Mobile country and network code"""
    apn: str | None
    """Access point name"""
    simSlot: float | None
    """SIM slot in use"""
    iccid: str | None
    """Serial number of the SIM"""
    imsi: str | None
    """Subscriber identity"""
    wanIp: str | None
    """Address on the uplink"""
    uptimeS: float | None
    """How long the uplink has been up (s)"""
    latencyMs: float | None
    """Round-trip time (ms)"""
    jitterMs: float | None
    """Variation of the round-trip time (ms)"""
    lossPct: float | None
    """Packets lost (%)"""
    rxBytes: float | None
    """Bytes received since the uplink came up (bytes)"""
    txBytes: float | None
    """Bytes sent since the uplink came up (bytes)"""


class LatestTelemetryCellularCell(TypedDict):
    role: NotRequired[Literal["pcell", "scell", "pscell", "neighbor"] | None]
    """What the cell is to the router"""
    rat: NotRequired["RadioAccessTechnology | None"]
    """Radio access technology; none means no service"""
    plmn: NotRequired[str | None]
    """Mobile country and network code"""
    operatorName: NotRequired[str | None]
    """Name the network announces"""
    band: NotRequired[str | None]
    """Band as the modem names it, such as B20 or n78"""
    arfcn: NotRequired[float | None]
    """Channel number: ARFCN, UARFCN, EARFCN or NR-ARFCN, as the RAT says"""
    bandwidthMhz: NotRequired[float | None]
    """Channel bandwidth (MHz)"""
    pci: NotRequired[float | None]
    """Physical cell id"""
    cellId: NotRequired[str | None]
    """Cell identity: CI, ECI or NCI"""
    tac: NotRequired[str | None]
    """Tracking or location area code"""
    rssiDbm: NotRequired[float | None]
    """Received signal strength (dBm)"""
    rsrpDbm: NotRequired[float | None]
    """Reference signal received power (dBm)"""
    rsrqDb: NotRequired[float | None]
    """Reference signal received quality (dB)"""
    sinrDb: NotRequired[float | None]
    """Signal to interference and noise ratio (dB)"""
    cqi: NotRequired[float | None]
    """Channel quality indicator"""
    signalPercent: NotRequired[float | None]
    """Signal strength as the modem rates it (%)"""


class LatestTelemetryCellular(TypedDict):
    ts: str
    ageMs: float
    receivedAt: str
    completedFrom: str | None
    """Time of the oldest sample that gave a field. A field that the newest sample lacks is taken from samples up to
    two minutes older, but not from another RAT, PLMN or cell. Null if the newest sample gave all fields.
    """
    tsCorrected: bool
    modem: str | None
    """Name by which the router tells its modems apart; left out by a router with one modem"""
    simPlmn: str | None
    """Mobile country and network code of the operator that issued the SIM"""
    rat: "RadioAccessTechnology | None"
    """Radio access technology; none means no service"""
    plmn: str | None
    """Mobile country and network code"""
    operatorName: str | None
    """Name the network announces"""
    band: str | None
    """Band as the modem names it, such as B20 or n78"""
    arfcn: float | None
    """Channel number: ARFCN, UARFCN, EARFCN or NR-ARFCN, as the RAT says"""
    bandwidthMhz: float | None
    """Channel bandwidth (MHz)"""
    pci: float | None
    """Physical cell id"""
    cellId: str | None
    """Cell identity: CI, ECI or NCI"""
    tac: str | None
    """Tracking or location area code"""
    rssiDbm: float | None
    """Received signal strength (dBm)"""
    rsrpDbm: float | None
    """Reference signal received power (dBm)"""
    rsrqDb: float | None
    """Reference signal received quality (dB)"""
    sinrDb: float | None
    """Signal to interference and noise ratio (dB)"""
    cqi: float | None
    """Channel quality indicator"""
    signalPercent: float | None
    """Signal strength as the modem rates it (%)"""
    nrRsrpDbm: float | None
    """RSRP of the NR leg in EN-DC (dBm)"""
    nrRsrqDb: float | None
    """RSRQ of the NR leg in EN-DC (dB)"""
    nrSinrDb: float | None
    """SINR of the NR leg in EN-DC (dB)"""
    nrArfcn: float | None
    """NR-ARFCN of the NR leg in EN-DC"""
    nrPci: float | None
    """Physical cell id of the NR leg in EN-DC"""
    nrBand: str | None
    """Band of the NR leg in EN-DC"""
    cells: "list[LatestTelemetryCellularCell] | None"
    """Carriers and neighbours seen beside the serving cell"""
    lat: float | None
    """Latitude the router stamped on the sample (WGS 84) (°)"""
    lon: float | None
    """Longitude the router stamped on the sample (WGS 84) (°)"""
    accuracyM: float | None
    """Accuracy of the stamped position (m)"""
    fixAgeMs: float | None
    """Time from the older fix used to the sample, in ms."""
    alignment: Literal["device", "dwell", "interpolated", "exact", "held", "none"] | None
    """How the position of the sample was determined. `interpolated`: between two fixes. If the fixes are up to 40 s
    apart, the position is on a curve that follows their speeds and headings; otherwise, it is on a straight line.
    """
    alignErrorM: float | None
    """Estimated error of the position in metres."""
    quality: "SignalQuality | None"
    qualityBasis: str | None


class LatestTelemetrySystem(TypedDict):
    ts: str
    ageMs: float
    receivedAt: str
    completedFrom: str | None
    """Time of the oldest sample that gave a field. A field that the newest sample lacks is taken from samples up to
    two minutes older, but not from another RAT, PLMN or cell. Null if the newest sample gave all fields.
    """
    tsCorrected: bool
    cpuPct: float | None
    """Processor load (%)"""
    memUsedPct: float | None
    """Memory in use (%)"""
    diskUsedPct: float | None
    """Storage in use (%)"""
    load1: float | None
    """Load average over one minute"""
    temperatureC: float | None
    """Temperature of the board (°C)"""
    modemTemperatureC: float | None
    """Temperature of the modem (°C)"""
    inputVoltageV: float | None
    """Supply voltage (V)"""
    uptimeS: float | None
    """Time since the router started (s)"""
    firmware: str | None
    """Firmware version running"""
    rebootReason: str | None
    """Why the router last started"""
    clients: float | None
    """Connected clients"""
    fault: str | None
    """What is wrong, when the router knows of a fault"""


class LatestTelemetryLocation(TypedDict):
    ts: str
    ageMs: float
    receivedAt: str
    completedFrom: str | None
    """Time of the oldest sample that gave a field. A field that the newest sample lacks is taken from samples up to
    two minutes older, but not from another RAT, PLMN or cell. Null if the newest sample gave all fields.
    """
    tsCorrected: bool
    lat: float | None
    """Latitude (WGS 84) (°)"""
    lon: float | None
    """Longitude (WGS 84) (°)"""
    fix: Literal["none", "2d", "3d"] | None
    """Kind of fix"""
    fixTs: str | None
    """When the receiver made the fix; `ageMs` may be sent instead"""
    accuracyM: float | None
    """Horizontal accuracy (m)"""
    hdop: float | None
    """Horizontal dilution of precision"""
    satellites: float | None
    """Satellites used"""
    altitudeM: float | None
    """Altitude (m)"""
    speedMps: float | None
    """Speed over ground (m/s)"""
    headingDeg: float | None
    """Course over ground, clockwise from north (°)"""
    source: Literal["gnss", "cell", "manual", "fused"] | None
    """Where the position comes from"""
    usable: bool


class LatestTelemetryModemCellularCell(TypedDict):
    role: NotRequired[Literal["pcell", "scell", "pscell", "neighbor"] | None]
    """What the cell is to the router"""
    rat: NotRequired["RadioAccessTechnology | None"]
    """Radio access technology; none means no service"""
    plmn: NotRequired[str | None]
    """Mobile country and network code"""
    operatorName: NotRequired[str | None]
    """Name the network announces"""
    band: NotRequired[str | None]
    """Band as the modem names it, such as B20 or n78"""
    arfcn: NotRequired[float | None]
    """Channel number: ARFCN, UARFCN, EARFCN or NR-ARFCN, as the RAT says"""
    bandwidthMhz: NotRequired[float | None]
    """Channel bandwidth (MHz)"""
    pci: NotRequired[float | None]
    """Physical cell id"""
    cellId: NotRequired[str | None]
    """Cell identity: CI, ECI or NCI"""
    tac: NotRequired[str | None]
    """Tracking or location area code"""
    rssiDbm: NotRequired[float | None]
    """Received signal strength (dBm)"""
    rsrpDbm: NotRequired[float | None]
    """Reference signal received power (dBm)"""
    rsrqDb: NotRequired[float | None]
    """Reference signal received quality (dB)"""
    sinrDb: NotRequired[float | None]
    """Signal to interference and noise ratio (dB)"""
    cqi: NotRequired[float | None]
    """Channel quality indicator"""
    signalPercent: NotRequired[float | None]
    """Signal strength as the modem rates it (%)"""


class LatestTelemetryModemCellular(TypedDict):
    ts: str
    ageMs: float
    receivedAt: str
    completedFrom: str | None
    """Time of the oldest sample that gave a field. A field that the newest sample lacks is taken from samples up to
    two minutes older, but not from another RAT, PLMN or cell. Null if the newest sample gave all fields.
    """
    tsCorrected: bool
    modem: str | None
    """Name by which the router tells its modems apart; left out by a router with one modem"""
    simPlmn: str | None
    """Mobile country and network code of the operator that issued the SIM"""
    rat: "RadioAccessTechnology | None"
    """Radio access technology; none means no service"""
    plmn: str | None
    """Mobile country and network code"""
    operatorName: str | None
    """Name the network announces"""
    band: str | None
    """Band as the modem names it, such as B20 or n78"""
    arfcn: float | None
    """Channel number: ARFCN, UARFCN, EARFCN or NR-ARFCN, as the RAT says"""
    bandwidthMhz: float | None
    """Channel bandwidth (MHz)"""
    pci: float | None
    """Physical cell id"""
    cellId: str | None
    """Cell identity: CI, ECI or NCI"""
    tac: str | None
    """Tracking or location area code"""
    rssiDbm: float | None
    """Received signal strength (dBm)"""
    rsrpDbm: float | None
    """Reference signal received power (dBm)"""
    rsrqDb: float | None
    """Reference signal received quality (dB)"""
    sinrDb: float | None
    """Signal to interference and noise ratio (dB)"""
    cqi: float | None
    """Channel quality indicator"""
    signalPercent: float | None
    """Signal strength as the modem rates it (%)"""
    nrRsrpDbm: float | None
    """RSRP of the NR leg in EN-DC (dBm)"""
    nrRsrqDb: float | None
    """RSRQ of the NR leg in EN-DC (dB)"""
    nrSinrDb: float | None
    """SINR of the NR leg in EN-DC (dB)"""
    nrArfcn: float | None
    """NR-ARFCN of the NR leg in EN-DC"""
    nrPci: float | None
    """Physical cell id of the NR leg in EN-DC"""
    nrBand: str | None
    """Band of the NR leg in EN-DC"""
    cells: "list[LatestTelemetryModemCellularCell] | None"
    """Carriers and neighbours seen beside the serving cell"""
    lat: float | None
    """Latitude the router stamped on the sample (WGS 84) (°)"""
    lon: float | None
    """Longitude the router stamped on the sample (WGS 84) (°)"""
    accuracyM: float | None
    """Accuracy of the stamped position (m)"""
    fixAgeMs: float | None
    """Time from the older fix used to the sample, in ms."""
    alignment: Literal["device", "dwell", "interpolated", "exact", "held", "none"] | None
    """How the position of the sample was determined. `interpolated`: between two fixes. If the fixes are up to 40 s
    apart, the position is on a curve that follows their speeds and headings; otherwise, it is on a straight line.
    """
    alignErrorM: float | None
    """Estimated error of the position in metres."""
    quality: "SignalQuality | None"
    qualityBasis: str | None


class LatestTelemetryModemConnection(TypedDict):
    ts: str
    ageMs: float
    receivedAt: str
    completedFrom: str | None
    """Time of the oldest sample that gave a field. A field that the newest sample lacks is taken from samples up to
    two minutes older, but not from another RAT, PLMN or cell. Null if the newest sample gave all fields.
    """
    tsCorrected: bool
    modem: str | None
    """Name by which the router tells its modems apart; left out by a router with one modem"""
    simPlmn: str | None
    """Mobile country and network code of the operator that issued the SIM"""
    state: "ConnectionState | None"
    """State of the uplink"""
    interface: str | None
    """Interface the uplink runs on"""
    rat: "RadioAccessTechnology | None"
    """Radio access technology; none means no service"""
    registration: "Registration | None"
    """Registration with the network"""
    operatorName: str | None
    """Name the network announces"""
    plmn: str | None
    """Mobile country and network code"""
    apn: str | None
    """Access point name"""
    simSlot: float | None
    """SIM slot in use"""
    iccid: str | None
    """Serial number of the SIM"""
    imsi: str | None
    """Subscriber identity"""
    wanIp: str | None
    """Address on the uplink"""
    uptimeS: float | None
    """How long the uplink has been up (s)"""
    latencyMs: float | None
    """Round-trip time (ms)"""
    jitterMs: float | None
    """Variation of the round-trip time (ms)"""
    lossPct: float | None
    """Packets lost (%)"""
    rxBytes: float | None
    """Bytes received since the uplink came up (bytes)"""
    txBytes: float | None
    """Bytes sent since the uplink came up (bytes)"""


class LatestTelemetryModem(TypedDict):
    modem: str | None
    """Null for a router that does not name its modem."""
    isActive: bool
    cellular: "LatestTelemetryModemCellular | None"
    connection: "LatestTelemetryModemConnection | None"


class LatestTelemetry(TypedDict):
    deviceId: str
    asOf: str
    connection: "LatestTelemetryConnection | None"
    """Of the active modem."""
    cellular: "LatestTelemetryCellular | None"
    """Of the active modem."""
    system: "LatestTelemetrySystem | None"
    location: "LatestTelemetryLocation | None"
    """The newest usable fix."""
    modems: "list[LatestTelemetryModem]"
    """The modems that reported in the last 24 hours, by name. The active one was connected last, if that was in the
    last 15 minutes; otherwise it had service last.
    """


ConnectionState: TypeAlias = Literal[
    "connected",
    "connecting",
    "disconnected",
    "searching",
    "registered",
    "disabled",
    "failed",
]


Registration: TypeAlias = Literal[
    "home",
    "roaming",
    "searching",
    "denied",
    "not_registered",
    "emergency_only",
    "unknown",
]


TelemetryHistoryWindow = TypedDict(
    "TelemetryHistoryWindow",
    {
        "from": str,
        "to": str,
        "requestedMinutes": int,
        "limitedBy": Literal["plan"] | None,
    },
)


class TelemetryHistoryItemCellularCell(TypedDict):
    role: NotRequired[Literal["pcell", "scell", "pscell", "neighbor"] | None]
    """What the cell is to the router"""
    rat: NotRequired["RadioAccessTechnology | None"]
    """Radio access technology; none means no service"""
    plmn: NotRequired[str | None]
    """Mobile country and network code"""
    operatorName: NotRequired[str | None]
    """Name the network announces"""
    band: NotRequired[str | None]
    """Band as the modem names it, such as B20 or n78"""
    arfcn: NotRequired[float | None]
    """Channel number: ARFCN, UARFCN, EARFCN or NR-ARFCN, as the RAT says"""
    bandwidthMhz: NotRequired[float | None]
    """Channel bandwidth (MHz)"""
    pci: NotRequired[float | None]
    """Physical cell id"""
    cellId: NotRequired[str | None]
    """Cell identity: CI, ECI or NCI"""
    tac: NotRequired[str | None]
    """Tracking or location area code"""
    rssiDbm: NotRequired[float | None]
    """Received signal strength (dBm)"""
    rsrpDbm: NotRequired[float | None]
    """Reference signal received power (dBm)"""
    rsrqDb: NotRequired[float | None]
    """Reference signal received quality (dB)"""
    sinrDb: NotRequired[float | None]
    """Signal to interference and noise ratio (dB)"""
    cqi: NotRequired[float | None]
    """Channel quality indicator"""
    signalPercent: NotRequired[float | None]
    """Signal strength as the modem rates it (%)"""


class TelemetryHistoryItemCellular(TypedDict):
    ts: str
    kind: Literal["cellular"]
    tsCorrected: bool
    modem: str | None
    """Name by which the router tells its modems apart; left out by a router with one modem"""
    simPlmn: str | None
    """Mobile country and network code of the operator that issued the SIM"""
    rat: "RadioAccessTechnology | None"
    """Radio access technology; none means no service"""
    plmn: str | None
    """Mobile country and network code"""
    operatorName: str | None
    """Name the network announces"""
    band: str | None
    """Band as the modem names it, such as B20 or n78"""
    arfcn: float | None
    """Channel number: ARFCN, UARFCN, EARFCN or NR-ARFCN, as the RAT says"""
    bandwidthMhz: float | None
    """Channel bandwidth (MHz)"""
    pci: float | None
    """Physical cell id"""
    cellId: str | None
    """Cell identity: CI, ECI or NCI"""
    tac: str | None
    """Tracking or location area code"""
    rssiDbm: float | None
    """Received signal strength (dBm)"""
    rsrpDbm: float | None
    """Reference signal received power (dBm)"""
    rsrqDb: float | None
    """Reference signal received quality (dB)"""
    sinrDb: float | None
    """Signal to interference and noise ratio (dB)"""
    cqi: float | None
    """Channel quality indicator"""
    signalPercent: float | None
    """Signal strength as the modem rates it (%)"""
    nrRsrpDbm: float | None
    """RSRP of the NR leg in EN-DC (dBm)"""
    nrRsrqDb: float | None
    """RSRQ of the NR leg in EN-DC (dB)"""
    nrSinrDb: float | None
    """SINR of the NR leg in EN-DC (dB)"""
    nrArfcn: float | None
    """NR-ARFCN of the NR leg in EN-DC"""
    nrPci: float | None
    """Physical cell id of the NR leg in EN-DC"""
    nrBand: str | None
    """Band of the NR leg in EN-DC"""
    cells: "list[TelemetryHistoryItemCellularCell] | None"
    """Carriers and neighbours seen beside the serving cell"""
    lat: float | None
    """Latitude the router stamped on the sample (WGS 84) (°)"""
    lon: float | None
    """Longitude the router stamped on the sample (WGS 84) (°)"""
    accuracyM: float | None
    """Accuracy of the stamped position (m)"""
    fixAgeMs: float | None
    """Time from the older fix used to the sample, in ms."""
    alignment: Literal["device", "dwell", "interpolated", "exact", "held", "none"] | None
    """How the position of the sample was determined. `interpolated`: between two fixes. If the fixes are up to 40 s
    apart, the position is on a curve that follows their speeds and headings; otherwise, it is on a straight line.
    """
    alignErrorM: float | None
    """Estimated error of the position in metres."""
    quality: "SignalQuality | None"
    qualityBasis: str | None


class TelemetryHistoryItemConnection(TypedDict):
    ts: str
    kind: Literal["connection"]
    tsCorrected: bool
    modem: str | None
    """Name by which the router tells its modems apart; left out by a router with one modem"""
    simPlmn: str | None
    """Mobile country and network code of the operator that issued the SIM"""
    state: "ConnectionState | None"
    """State of the uplink"""
    interface: str | None
    """Interface the uplink runs on"""
    rat: "RadioAccessTechnology | None"
    """Radio access technology; none means no service"""
    registration: "Registration | None"
    """Registration with the network"""
    operatorName: str | None
    """Name the network announces"""
    plmn: str | None
    """Mobile country and network code"""
    apn: str | None
    """Access point name"""
    simSlot: float | None
    """SIM slot in use"""
    iccid: str | None
    """Serial number of the SIM"""
    imsi: str | None
    """Subscriber identity"""
    wanIp: str | None
    """Address on the uplink"""
    uptimeS: float | None
    """How long the uplink has been up (s)"""
    latencyMs: float | None
    """Round-trip time (ms)"""
    jitterMs: float | None
    """Variation of the round-trip time (ms)"""
    lossPct: float | None
    """Packets lost (%)"""
    rxBytes: float | None
    """Bytes received since the uplink came up (bytes)"""
    txBytes: float | None
    """Bytes sent since the uplink came up (bytes)"""


class TelemetryHistoryItemLocation(TypedDict):
    ts: str
    kind: Literal["location"]
    tsCorrected: bool
    lat: float | None
    """Latitude (WGS 84) (°)"""
    lon: float | None
    """Longitude (WGS 84) (°)"""
    fix: Literal["none", "2d", "3d"] | None
    """Kind of fix"""
    fixTs: str | None
    """When the receiver made the fix; `ageMs` may be sent instead"""
    accuracyM: float | None
    """Horizontal accuracy (m)"""
    hdop: float | None
    """Horizontal dilution of precision"""
    satellites: float | None
    """Satellites used"""
    altitudeM: float | None
    """Altitude (m)"""
    speedMps: float | None
    """Speed over ground (m/s)"""
    headingDeg: float | None
    """Course over ground, clockwise from north (°)"""
    source: Literal["gnss", "cell", "manual", "fused"] | None
    """Where the position comes from"""
    usable: bool


class TelemetryHistoryItemSystem(TypedDict):
    ts: str
    kind: Literal["system"]
    tsCorrected: bool
    cpuPct: float | None
    """Processor load (%)"""
    memUsedPct: float | None
    """Memory in use (%)"""
    diskUsedPct: float | None
    """Storage in use (%)"""
    load1: float | None
    """Load average over one minute"""
    temperatureC: float | None
    """Temperature of the board (°C)"""
    modemTemperatureC: float | None
    """Temperature of the modem (°C)"""
    inputVoltageV: float | None
    """Supply voltage (V)"""
    uptimeS: float | None
    """Time since the router started (s)"""
    firmware: str | None
    """Firmware version running"""
    rebootReason: str | None
    """Why the router last started"""
    clients: float | None
    """Connected clients"""
    fault: str | None
    """What is wrong, when the router knows of a fault"""


class TelemetryHistoryItem5FieldsValue(TypedDict):
    min: float
    mean: float
    max: float


class TelemetryHistoryItem5(TypedDict):
    """With `stepSeconds`: the statistics of one kind in one step. `ts` is the start of the step."""

    ts: str
    kind: Literal["cellular", "connection", "location", "system"]
    samples: int
    fields: "dict[str, TelemetryHistoryItem5FieldsValue]"


TelemetryHistoryItem: TypeAlias = (
    "TelemetryHistoryItemCellular | "
    "TelemetryHistoryItemConnection | "
    "TelemetryHistoryItemLocation | "
    "TelemetryHistoryItemSystem | "
    "TelemetryHistoryItem5"
)


class TelemetryHistory(TypedDict):
    deviceId: str
    window: "TelemetryHistoryWindow"
    items: "list[TelemetryHistoryItem]"
    nextCursor: str | None


DeviceDataUseWindow = TypedDict(
    "DeviceDataUseWindow",
    {
        "from": str,
        "to": str,
        "requestedMinutes": int,
        "limitedBy": Literal["plan"] | None,
    },
)


class DeviceDataUseItem(TypedDict):
    modem: str | None
    """Null for a router that does not name its modem."""
    interface: str | None
    rxBytes: float | None
    """Received bytes. Null if the router did not send this counter."""
    txBytes: float | None
    """Sent bytes. Null if the router did not send this counter."""


class DeviceDataUse(TypedDict):
    deviceId: str
    window: "DeviceDataUseWindow"
    items: "list[DeviceDataUseItem]"
    """The modems and interfaces whose counters the router sent, by name."""


DeviceOutagesWindow = TypedDict(
    "DeviceOutagesWindow",
    {
        "from": str,
        "to": str,
        "requestedMinutes": int,
        "limitedBy": Literal["plan"] | None,
    },
)


class DeviceOutagesItemLocation(TypedDict):
    lat: float
    lon: float


DeviceOutagesItem = TypedDict(
    "DeviceOutagesItem",
    {
        "modem": str | None,
        "from": str,
        "to": str,
        "durationS": int,
        "location": "DeviceOutagesItemLocation | None",
        "near": "Near | None",
    },
)


DeviceOutagesOfDeviceItem = TypedDict(
    "DeviceOutagesOfDeviceItem",
    {
        "from": str,
        "to": str,
        "durationS": int,
    },
)


class DeviceOutages(TypedDict):
    deviceId: str
    window: "DeviceOutagesWindow"
    items: "list[DeviceOutagesItem]"
    """Newest first, at most the newest 1,000."""
    ofDevice: "list[DeviceOutagesOfDeviceItem]"
    """The times in which no modem of the device had service, newest first, at most the newest 1,000. A modem that did
    not report in a time does not count. The parameter `modem` does not change them.
    """


class FleetGps(TypedDict):
    asOf: str
    """The time of the response. Send it as `since` to get changes."""
    window: "ReadWindow"
    h3Resolution: int | None
    devices: NotRequired["list[FleetDevice] | dict[str, list[Any]]"]
    coverage: NotRequired["list[CoverageCell] | dict[str, list[Any]]"]
    dwells: NotRequired["list[Dwell] | dict[str, list[Any]]"]
    gone: list[str]
    thresholds: "SignalThresholds"
    nextCursor: str | None


ReadWindow = TypedDict(
    "ReadWindow",
    {
        "from": str,
        "to": str,
        "limitedBy": Literal["plan"] | None,
    },
)


class FleetDeviceLocation(TypedDict):
    lat: NotRequired[float]
    lon: NotRequired[float]
    fix: NotRequired[str | None]
    ts: NotRequired[str]
    ageMs: NotRequired[int]
    accuracyM: NotRequired[float | None]
    speedMps: NotRequired[float | None]
    headingDeg: NotRequired[float | None]


class FleetDeviceSignal(TypedDict):
    ts: NotRequired[str]
    ageMs: NotRequired[int]
    modem: NotRequired[str | None]
    """Null for a router that does not name its modem."""
    rat: NotRequired[str | None]
    plmn: NotRequired[str | None]
    operatorName: NotRequired[str | None]
    rsrpDbm: NotRequired[float | None]
    rsrqDb: NotRequired[float | None]
    sinrDb: NotRequired[float | None]
    nrRsrpDbm: NotRequired[float | None]
    quality: NotRequired["SignalQuality | None"]
    qualityBasis: NotRequired[str | None]
    alignment: NotRequired[str | None]
    alignErrorM: NotRequired[float | None]
    lat: NotRequired[float | None]
    lon: NotRequired[float | None]
    completedFrom: NotRequired[str | None]
    """Time of the oldest sample that gave a field. A field that the newest sample lacks is taken from samples of the
    same modem up to two minutes older, but not from another RAT, PLMN or cell. Null if the newest sample gave all
    fields.
    """


class FleetDeviceDwell(TypedDict):
    arrivedAt: NotRequired[str]
    durationS: NotRequired[int]
    lat: NotRequired[float]
    lon: NotRequired[float]
    radiusM: NotRequired[float]


class FleetDeviceModem(TypedDict):
    ts: str
    ageMs: int
    modem: str | None
    """Null for a router that does not name its modem."""
    rat: str | None
    plmn: str | None
    operatorName: str | None
    rsrpDbm: float | None
    rsrqDb: float | None
    sinrDb: float | None
    nrRsrpDbm: float | None
    quality: "SignalQuality | None"
    qualityBasis: str | None
    alignment: str | None
    alignErrorM: float | None
    lat: float | None
    lon: float | None
    completedFrom: str | None
    """Time of the oldest sample that gave a field. A field that the newest sample lacks is taken from samples of the
    same modem up to two minutes older, but not from another RAT, PLMN or cell. Null if the newest sample gave all
    fields.
    """
    isActive: bool


class FleetDevice(TypedDict):
    """With `fields`, contains only the requested fields."""

    deviceId: str
    organizationId: NotRequired[str]
    name: NotRequired[str]
    status: NotRequired["DeviceStatus"]
    location: NotRequired["FleetDeviceLocation | None"]
    signal: NotRequired["FleetDeviceSignal | None"]
    """Of the active modem."""
    dwell: NotRequired["FleetDeviceDwell | None"]
    """The ongoing dwell."""
    modems: NotRequired["list[FleetDeviceModem]"]
    """With `include=modems`: the modems that reported in the last 24 hours, by name."""


class CoverageCell(TypedDict):
    h3: str
    samples: int
    """Number of votes, one per device, modem and minute. 0 if the cell lost its last vote."""
    devices: int
    serviceRatio: float
    """Share of the votes with service."""
    rsrpDbm: "RsrpLevels"
    sinrDb: "SinrLevels"
    quality: "SignalQuality | None"
    confidence: Literal["low", "medium", "high"]
    lastAt: str


class RsrpLevels(TypedDict):
    p10: float | None
    p50: float | None
    p90: float | None


class SinrLevels(TypedDict):
    p10: float | None
    p50: float | None


class Dwell(TypedDict):
    id: str
    deviceId: str
    arrivedAt: str
    departedAt: str | None
    """Null while the dwell is ongoing."""
    firstOutsideAt: str | None
    durationS: int
    lat: float
    lon: float
    radiusM: float
    fixCount: int
    gap: bool
    rsrpP50Dbm: float | None
    sinrP50Db: float | None
    noServiceS: float | None
    """In `/fleet/gps`, the three signal fields are null in lists of more than 500 dwells."""
    withdrawn: NotRequired[bool]
    """With `since`: late data removed this dwell."""


class SignalThresholds(TypedDict):
    classes: "list[SignalQuality]"
    rsrpDbm: list[float]
    """Lowest values of poor, fair, good and excellent for LTE and NR."""
    sinrDb: list[float]
    rssiDbm: list[float]
    """Lowest values for GSM and UMTS."""
    byRat: dict[str, dict[str, list[float]]]
    colors: dict[str, str]


class FleetFeatureCollection(TypedDict):
    type: Literal["FeatureCollection"]
    features: "list[FleetFeature]"


class FleetFeatureGeometry(TypedDict):
    type: str


class FleetFeature(TypedDict):
    type: Literal["Feature"]
    geometry: "FleetFeatureGeometry | None"
    properties: dict[str, Any]


class Coverage(TypedDict):
    asOf: str
    window: "ReadWindow"
    h3Resolution: int
    items: "list[DetailedCoverageCell]"
    thresholds: "SignalThresholds"


class DetailedCoverageCellByPlmnValue(TypedDict):
    samples: int
    """Number of votes. A vote without service counts for the operator that the modem lost."""
    serviceRatio: float
    """Share of the votes with service."""
    rsrpDbm: "RsrpLevels"
    rsrpP50Dbm: float | None
    best: bool
    """The only operator with service in 90 % of its votes, or at least 3 dB stronger than the others."""


class DetailedCoverageCell(TypedDict):
    h3: str
    samples: int
    """Number of votes, one per device, modem and minute. 0 if the cell lost its last vote."""
    devices: int
    serviceRatio: float
    """Share of the votes with service."""
    rsrpDbm: "RsrpLevels"
    sinrDb: "SinrLevels"
    quality: "SignalQuality | None"
    confidence: Literal["low", "medium", "high"]
    lastAt: str
    byRat: dict[str, int]
    byPlmn: "dict[str, DetailedCoverageCellByPlmnValue]"


class DeadZone(TypedDict):
    id: str
    """The lowest cell index of the zone."""
    lat: float
    lon: float
    near: "Near | None"
    """The nearest town with at least 1,000 inhabitants (GeoNames, CC BY 4.0)."""
    bbox: list[float]
    """minLon, minLat, maxLon, maxLat. minLon > maxLon if the box crosses the antimeridian."""
    cells: list[str]
    areaKm2: float
    samples: int
    """Number of votes, one per device, modem, cell and minute."""
    noServiceS: int
    """Seconds without service. A minute of a device counts if none of its modems had service in it."""
    serviceRatio: float
    """The part of the minutes of devices in which a modem of the device had service, from 0 to 1."""
    devices: int
    worstPlmn: str | None
    """The operator with the lowest service ratio among operators with at least 5 votes."""
    bestPlmn: str | None
    """The operator with the highest service ratio; null unless at least two operators have 5 votes."""
    lastAt: str


class DeadZonePage(TypedDict):
    asOf: str
    window: "ReadWindow"
    h3Resolution: int
    items: "list[DeadZone]"
    nextCursor: str | None
    """Null on the last page."""


class SignalTrendStepRsrpDbm(TypedDict):
    """Percentiles of the votes with service; null where nothing was measured."""

    p10: float | None
    p50: float | None
    p90: float | None


class SignalTrendStepByQuality(TypedDict):
    """Votes by the class of their RSRP. `none` includes votes without service; `unknown` have no RSRP."""

    none: int
    poor: int
    fair: int
    good: int
    excellent: int
    unknown: int


SignalTrendStep = TypedDict(
    "SignalTrendStep",
    {
        "from": str,
        "samples": int,
        "serviceRatio": float,
        "noServiceS": int,
        "rsrpDbm": "SignalTrendStepRsrpDbm",
        "byQuality": "SignalTrendStepByQuality",
    },
)


class SignalTrendOperatorRsrpDbm(TypedDict):
    """Percentiles of the votes with service; null where nothing was measured."""

    p10: float | None
    p50: float | None
    p90: float | None


class SignalTrendOperatorByQuality(TypedDict):
    """Votes by the class of their RSRP. `none` includes votes without service; `unknown` have no RSRP."""

    none: int
    poor: int
    fair: int
    good: int
    excellent: int
    unknown: int


class SignalTrendOperator(TypedDict):
    plmn: str
    samples: int
    """Number of votes, one per device, modem, cell and minute."""
    serviceRatio: float
    """Share of the votes with service."""
    noServiceS: int
    """Seconds without service; each vote without service counts as one minute."""
    rsrpDbm: "SignalTrendOperatorRsrpDbm"
    byQuality: "SignalTrendOperatorByQuality"


class SignalTrend(TypedDict):
    asOf: str
    window: "ReadWindow"
    stepS: int
    """Length of a step: an hour, six hours or a day, by the length of the window."""
    steps: "list[SignalTrendStep]"
    """Oldest first. Steps begin at multiples of their length in UTC. A step without votes is left out."""
    operators: "list[SignalTrendOperator]"
    """At most 100 operators with at least 5 votes each. The operator with the largest share of votes with a poor
    signal or none is first.
    """


class OperatorsItemRsrpDbm(TypedDict):
    """Percentiles of the votes with service; null where nothing was measured."""

    p10: float | None
    p50: float | None
    p90: float | None


class OperatorsItemByQuality(TypedDict):
    """Votes by the class of their RSRP. `none` includes votes without service; `unknown` have no RSRP."""

    none: int
    poor: int
    fair: int
    good: int
    excellent: int
    unknown: int


class OperatorsItem(TypedDict):
    plmn: str
    samples: int
    """Number of votes, one per device, modem, cell and minute."""
    serviceRatio: float
    """Share of the votes with service."""
    noServiceS: int
    """Seconds without service; each vote without service counts as one minute."""
    rsrpDbm: "OperatorsItemRsrpDbm"
    byQuality: "OperatorsItemByQuality"


class Operators(TypedDict):
    asOf: str
    window: "ReadWindow"
    items: "list[OperatorsItem]"
    """At most 100 operators. Those with fewer than 5 votes come last."""


class PathLineString(TypedDict):
    type: Literal["LineString"]
    coordinates: list[list[float | None]]


class PathMultiLineString(TypedDict):
    type: Literal["MultiLineString"]
    coordinates: list[list[list[float | None]]]


class IgnoredGeometry(TypedDict):
    type: Literal["Point", "MultiPoint", "Polygon", "MultiPolygon"]


class PathGeometryCollection(TypedDict):
    type: Literal["GeometryCollection"]
    geometries: "list[PathLineString | PathMultiLineString | IgnoredGeometry]"


class PathFeature(TypedDict):
    type: Literal["Feature"]
    geometry: "PathLineString | PathMultiLineString | IgnoredGeometry | PathGeometryCollection | None"


class PathFeatureCollection(TypedDict):
    type: Literal["FeatureCollection"]
    features: "list[PathFeature]"


class ForecastRouteRequest(TypedDict):
    path: "list[list[float | None]] | PathLineString | PathMultiLineString | IgnoredGeometry | PathGeometryCollection | PathFeature | PathFeatureCollection"
    """A list of [longitude, latitude] positions, or GeoJSON: 2 to 5000 points and at most 2000 km. Each line of a
    MultiLineString or a collection is a stretch, and the gaps between them are not part of the route. Altitudes,
    `bbox`, `crs`, properties, points and polygons are ignored.
    """
    orgId: NotRequired[str]
    """Uses data of this organization only. By default, all organizations that you can read are merged."""
    sinceMinutes: NotRequired[int]
    everyM: NotRequired[float]
    """Length of a segment in metres."""
    plmn: NotRequired[str]
    """Uses only samples of this operator."""


class RouteForecastStretch(TypedDict):
    fromM: float
    """Metres from the start of the path, without the gaps between stretches."""
    toM: float
    """Metres from the start of the path, without the gaps between stretches."""


class RouteForecastSummaryDeadZone(TypedDict):
    fromM: float
    """Metres from the start of the path, without the gaps between stretches."""
    toM: float
    """Metres from the start of the path, without the gaps between stretches."""
    lengthM: float
    """Metres."""


class RouteForecastSummaryByPlmnValue(TypedDict):
    knownM: float
    """Metres."""
    deadM: float
    """Metres."""
    poorM: float
    """Metres."""
    rsrpP50Dbm: float | None


class RouteForecastSummary(TypedDict):
    knownM: float
    """Metres with data, including dead and poor metres."""
    deadM: float
    """Metres."""
    poorM: float
    """Metres."""
    deadZones: "list[RouteForecastSummaryDeadZone]"
    byPlmn: "dict[str, RouteForecastSummaryByPlmnValue]"
    recommendedPlmn: str | None
    """The operator with the fewest dead metres, of equals the one with the stronger median, among operators with data
    on at least half of `knownM`; null if there is none.
    """


class RouteForecast(TypedDict):
    asOf: str
    window: "ReadWindow"
    lengthM: float
    """Metres."""
    everyM: float
    stretches: NotRequired["list[RouteForecastStretch]"]
    """The lines of the path in their order; absent if the path is one line."""
    ignoredGeometries: NotRequired[int]
    """Number of points and polygons in the path, which a route does not use; absent if there are none."""
    segments: "list[ForecastSegment]"
    summary: "RouteForecastSummary"


class ForecastSegmentRsrpDbm(TypedDict):
    p10: float | None
    p50: float | None
    p90: float | None


class ForecastSegmentSinrDb(TypedDict):
    p10: float | None
    p50: float | None


class ForecastSegmentByRatValueRsrpDbm(TypedDict):
    p10: float | None
    p50: float | None
    p90: float | None


class ForecastSegmentByRatValue(TypedDict):
    samples: int
    share: float
    """Expected share of all votes."""
    rsrpDbm: "ForecastSegmentByRatValueRsrpDbm"


class ForecastSegmentByPlmnValueRsrpDbm(TypedDict):
    p10: float | None
    p50: float | None
    p90: float | None


class ForecastSegmentByPlmnValue(TypedDict):
    samples: int
    serviceRatio: float
    rsrpDbm: "ForecastSegmentByPlmnValueRsrpDbm"
    best: bool


class ForecastSegment(TypedDict):
    fromM: float
    """Metres from the start of the path, without the gaps between stretches."""
    toM: float
    """Metres from the start of the path, without the gaps between stretches."""
    lat: float
    """Middle of the segment."""
    lon: float
    h3: str
    """The cell that the forecast uses: the finest cell around the middle of the segment with at least 5 votes."""
    h3Resolution: int
    samples: int
    """Number of votes in the cell."""
    devices: int
    """Number of devices that voted in the cell."""
    serviceRatio: float | None
    quality: "SignalQuality | None"
    confidence: Literal["none", "low", "medium", "high"]
    """`none` if there is no data."""
    rsrpDbm: "ForecastSegmentRsrpDbm | None"
    sinrDb: "ForecastSegmentSinrDb | None"
    byRat: "dict[str, ForecastSegmentByRatValue]"
    byPlmn: "dict[str, ForecastSegmentByPlmnValue]"


class DwellInPlacesPlace(TypedDict):
    id: str
    name: str


class DwellInPlaces(TypedDict):
    id: str
    deviceId: str
    arrivedAt: str
    departedAt: str | None
    """Null while the dwell is ongoing."""
    firstOutsideAt: str | None
    durationS: int
    lat: float
    lon: float
    radiusM: float
    fixCount: int
    gap: bool
    rsrpP50Dbm: float | None
    sinrP50Db: float | None
    noServiceS: float | None
    """In `/fleet/gps`, the three signal fields are null in lists of more than 500 dwells."""
    withdrawn: NotRequired[bool]
    """With `since`: late data removed this dwell."""
    near: "Near | None"
    """The nearest town with at least 1,000 inhabitants (GeoNames, CC BY 4.0)."""
    places: NotRequired["list[DwellInPlacesPlace]"]
    """The places that contain the centre of the dwell. Absent if there are none."""


class DwellInPlacesPage(TypedDict):
    items: "list[DwellInPlaces]"
    nextCursor: str | None
    """Null on the last page."""


Trip = TypedDict(
    "Trip",
    {
        "deviceId": str,
        "departedAt": str,
        "arrivedAt": str | None,
        "from": "TripEnd",
        "to": "TripEnd",
        "distanceM": float,
        "durationS": int,
        "gap": bool,
        "noServiceS": float | None,
        "rsrpP50Dbm": float | None,
        "sinrP50Db": float | None,
    },
)


class TripEnd(TypedDict):
    lat: float
    lon: float
    near: "Near | None"
    """The nearest town with at least 1,000 inhabitants (GeoNames, CC BY 4.0)."""
    placeId: str | None
    """The place that contains it, of several the first by name."""
    placeName: str | None
    """The name of that place."""


class TripPage(TypedDict):
    items: "list[Trip]"
    nextCursor: str | None
    """Null on the last page."""


class RadioHealth(TypedDict):
    organizationId: str
    deviceId: str
    deviceName: str
    modem: str | None
    """Null for a router that does not name its modem."""
    status: Literal["fault", "suspect", "ok", "unknown"]
    """`fault`: at least 3 dB weaker than its neighbours, on 20 or more shared cells. `suspect`: probably weaker by
    more than 1 dB. `unknown`: fewer than 10 shared cells.
    """
    offsetDb: float | None
    """Difference to the neighbours in dB, without what is usual for the model. Negative is weaker. Null if unknown.
    """
    offsetLowDb: float | None
    """Lower end of the 95 % interval of `offsetDb`."""
    offsetHighDb: float | None
    """Upper end of the 95 % interval of `offsetDb`."""
    sharedCells: int
    """H3 cells of resolution 10, each with one RAT and serving cell, in which at least two other devices measured.
    """
    comparedDevices: int
    """Other devices in the shared cells."""
    model: str | None
    modelOffsetDb: float | None
    """What the devices of this model have in common, in dB. Not part of `offsetDb`."""
    sinceAt: str | None
    """The UTC day on which a weak radio became weak. Null if it was weak in the whole window."""


RadioHealthPageWindow = TypedDict(
    "RadioHealthPageWindow",
    {
        "from": str,
        "to": str,
    },
)


class RadioHealthPage(TypedDict):
    items: "list[RadioHealth]"
    nextCursor: str | None
    """Null on the last page."""
    asOf: str | None
    """When the newest comparison ended. Null before the first one."""
    window: "RadioHealthPageWindow | None"
    """The time that the newest comparison covers."""


DeviceRadioHealthWindow = TypedDict(
    "DeviceRadioHealthWindow",
    {
        "from": str,
        "to": str,
    },
)


class DeviceRadioHealthRadioCell(TypedDict):
    h3: str
    rat: str
    cellId: str | None
    pci: float | None
    """With `arfcn`, the serving cell if the router did not send its identity."""
    arfcn: float | None
    rsrpDbm: float
    """Median RSRP of this radio."""
    neighboursDbm: float
    """Median of the medians of the other devices."""
    differenceDb: float
    """Negative is weaker than the neighbours."""
    comparedDevices: int


class DeviceRadioHealthRadio(TypedDict):
    organizationId: str
    deviceId: str
    deviceName: str
    modem: str | None
    """Null for a router that does not name its modem."""
    status: Literal["fault", "suspect", "ok", "unknown"]
    """`fault`: at least 3 dB weaker than its neighbours, on 20 or more shared cells. `suspect`: probably weaker by
    more than 1 dB. `unknown`: fewer than 10 shared cells.
    """
    offsetDb: float | None
    """Difference to the neighbours in dB, without what is usual for the model. Negative is weaker. Null if unknown.
    """
    offsetLowDb: float | None
    """Lower end of the 95 % interval of `offsetDb`."""
    offsetHighDb: float | None
    """Upper end of the 95 % interval of `offsetDb`."""
    sharedCells: int
    """H3 cells of resolution 10, each with one RAT and serving cell, in which at least two other devices measured.
    """
    comparedDevices: int
    """Other devices in the shared cells."""
    model: str | None
    modelOffsetDb: float | None
    """What the devices of this model have in common, in dB. Not part of `offsetDb`."""
    sinceAt: str | None
    """The UTC day on which a weak radio became weak. Null if it was weak in the whole window."""
    cells: "list[DeviceRadioHealthRadioCell]"
    """Shared cells, those in which the radio is weakest first: at most 100, of the 500 places in which the device has
    most votes, and without places in which the fleet has hundreds of thousands.
    """


class DeviceRadioHealth(TypedDict):
    deviceId: str
    asOf: str | None
    """When the newest comparison ended. Null before the first one."""
    window: "DeviceRadioHealthWindow | None"
    """The time that the newest comparison covers."""
    radios: "list[DeviceRadioHealthRadio]"


class RadioHealthRun(TypedDict):
    organizationId: str
    status: Literal["waiting", "running"]
    """`waiting`: the worker starts it within seconds."""
    requestedAt: str | None
    """Null for a nightly comparison."""


class SimAdviceOperator(TypedDict):
    plmn: str
    noServiceMinutesPerDay: float | None
    """Minutes without service a day with this operator. Null if it is not known."""
    knownShare: float
    """Share of the minutes that were in cells in which the operator has votes."""


class SimAdvice(TypedDict):
    organizationId: str
    deviceId: str
    deviceName: str
    modem: str | None
    """Null for a router that does not name its modem."""
    plmn: str | None
    """The operator of most of its votes. Null if no vote has one."""
    minutesPerDay: float
    """Minutes with a position, a day on which the modem reported."""
    noServiceMinutesPerDay: float
    """Minutes without service a day today."""
    operators: "list[SimAdviceOperator]"
    """The other operators of the country or with votes in the cells: the fewest minutes without service first, unknown
    ones last.
    """
    bestPlmn: str | None
    """The operator with the fewest minutes without service. Null if none is better than today."""
    gainMinutesPerDay: float | None
    """Minutes without service a day that `bestPlmn` would save. 0 if none is better, null if none is known."""


class SimAdviceTotalOperator(TypedDict):
    plmn: str
    noServiceMinutesPerDay: float
    """With all SIMs of this operator. A SIM for which it is not known counts as today."""
    knownSims: int
    """SIMs for which it is known. Those of the operator count too."""


class SimAdviceTotal(TypedDict):
    sims: int
    noServiceMinutesPerDay: float
    """Of all SIMs, a day, today."""
    operators: "list[SimAdviceTotalOperator]"
    """The fewest minutes without service first."""


SimAdvicePageWindow = TypedDict(
    "SimAdvicePageWindow",
    {
        "from": str,
        "to": str,
    },
)


class SimAdvicePage(TypedDict):
    items: "list[SimAdvice]"
    nextCursor: str | None
    """Null on the last page."""
    asOf: str | None
    """When the newest comparison ended. Null before the first one."""
    window: "SimAdvicePageWindow | None"
    """The time that the newest comparison covers."""
    total: "SimAdviceTotal | None"
    """All SIMs that match. Null on later pages."""


class NearestTown(TypedDict):
    near: "Near | None"
    """The nearest town with at least 1,000 inhabitants (GeoNames, CC BY 4.0)."""


# A Mapbox Vector Tile 2.1 with extent 4096 and the layers `devices`, `coverage` and `dwells`.
VectorTile: TypeAlias = (
    "str"
)


class TileJsonVectorLayer(TypedDict):
    id: str
    description: str
    minzoom: int
    maxzoom: int
    fields: dict[str, Literal["String", "Number", "Boolean"]]
    """The type of each property."""


class TileJsonFleetOperator(TypedDict):
    plmn: str
    name: str


class TileJsonFleet(TypedDict):
    devices: int
    """Devices with a position."""
    bounds: list[float] | None
    """west, south, east, north: the smallest box with all positions, at most a minute old. west > east if it crosses
    the antimeridian. Null without devices.
    """
    operators: "list[TileJsonFleetOperator]"
    """Operators of recent last signals, at most 200."""


class TileJson(TypedDict):
    """TileJSON 3.0.0."""

    tilejson: Literal["3.0.0"]
    name: str
    description: str
    scheme: Literal["xyz"]
    tiles: list[str]
    """Address template of the tiles, with the query of this request."""
    minzoom: int
    maxzoom: int
    bounds: list[float]
    """west, south, east, north."""
    vector_layers: "list[TileJsonVectorLayer]"
    window: "ReadWindow"
    fleet: "TileJsonFleet | None"
    """The devices of the query. Null without the layer `devices`. Not part of TileJSON."""


class OgcLandingPage(TypedDict):
    title: str
    description: str
    links: "list[OgcLink]"


class OgcLink(TypedDict):
    href: str
    rel: str
    type: str
    title: NotRequired[str]


class OgcConformance(TypedDict):
    conformsTo: list[str]


class OgcCollections(TypedDict):
    links: "list[OgcLink]"
    collections: "list[OgcCollection]"


class OgcCollectionExtentSpatial(TypedDict):
    bbox: list[list[float]]
    crs: str


class OgcCollectionExtentTemporal(TypedDict):
    interval: list[list[str | None]]
    """From the start of the history that the plan includes until now."""
    trs: str


class OgcCollectionExtent(TypedDict):
    spatial: "OgcCollectionExtentSpatial"
    temporal: "OgcCollectionExtentTemporal"


class OgcCollection(TypedDict):
    id: str
    title: str
    description: str
    itemType: Literal["feature"]
    crs: list[str]
    extent: "OgcCollectionExtent"
    links: "list[OgcLink]"


# JSON Schema 2020-12.
GetOgcCollectionSchemaResult = TypedDict(
    "GetOgcCollectionSchemaResult",
    {
        "$schema": str,
        "title": str,
        "type": Literal["object"],
    },
)


class OgcFeaturesFeatureGeometry(TypedDict):
    type: str


class OgcFeaturesFeature(TypedDict):
    type: Literal["Feature"]
    id: str
    geometry: "OgcFeaturesFeatureGeometry | None"
    """In CRS84: longitude first."""
    properties: dict[str, Any]
    """Names of nested values have an underscore: `signal_rsrpDbm`."""


class OgcFeatures(TypedDict):
    type: Literal["FeatureCollection"]
    timeStamp: str
    numberMatched: NotRequired[int]
    """Features on all pages; absent if it is not known."""
    numberReturned: int
    links: "list[OgcLink]"
    """`next` leads to the next page; the last page has none."""
    features: "list[OgcFeaturesFeature]"


class OgcFeatureGeometry(TypedDict):
    type: str


class OgcFeature(TypedDict):
    type: Literal["Feature"]
    id: str
    geometry: "OgcFeatureGeometry | None"
    """In CRS84: longitude first."""
    properties: dict[str, Any]
    """Names of nested values have an underscore: `signal_rsrpDbm`."""
    links: "list[OgcLink]"


class SavedView(TypedDict):
    id: str
    name: str
    place: str
    """The address of the view after `#/`."""
    shared: bool
    """True if everybody in the organization sees the view."""
    isOwn: bool
    """True if you saved the view."""
    createdAt: str


class SavedViewPage(TypedDict):
    items: "list[SavedView]"
    nextCursor: str | None
    """Null on the last page."""


class CreateSavedViewRequest(TypedDict):
    name: str
    place: str
    shared: NotRequired[bool]
    """Shows the view to everybody in the organization, for which you also need `org:write`. Default: false."""


class TelemetryReportSampleCellularCell(TypedDict):
    role: NotRequired[Literal["pcell", "scell", "pscell", "neighbor"] | None]
    """What the cell is to the router"""
    rat: NotRequired["RadioAccessTechnology | None"]
    """Radio access technology; none means no service"""
    plmn: NotRequired[str | None]
    """Mobile country and network code"""
    operatorName: NotRequired[str | None]
    """Name the network announces"""
    band: NotRequired[str | None]
    """Band as the modem names it, such as B20 or n78"""
    arfcn: NotRequired[float | None]
    """Channel number: ARFCN, UARFCN, EARFCN or NR-ARFCN, as the RAT says"""
    bandwidthMhz: NotRequired[float | None]
    """Channel bandwidth (MHz)"""
    pci: NotRequired[float | None]
    """Physical cell id"""
    cellId: NotRequired[str | None]
    """Cell identity: CI, ECI or NCI"""
    tac: NotRequired[str | None]
    """Tracking or location area code"""
    rssiDbm: NotRequired[float | None]
    """Received signal strength (dBm)"""
    rsrpDbm: NotRequired[float | None]
    """Reference signal received power (dBm)"""
    rsrqDb: NotRequired[float | None]
    """Reference signal received quality (dB)"""
    sinrDb: NotRequired[float | None]
    """Signal to interference and noise ratio (dB)"""
    cqi: NotRequired[float | None]
    """Channel quality indicator"""
    signalPercent: NotRequired[float | None]
    """Signal strength as the modem rates it (%)"""


class TelemetryReportSampleCellular(TypedDict):
    modem: NotRequired[str | None]
    """Name by which the router tells its modems apart; left out by a router with one modem"""
    simPlmn: NotRequired[str | None]
    """Mobile country and network code of the operator that issued the SIM"""
    rat: NotRequired["RadioAccessTechnology | None"]
    """Radio access technology; none means no service"""
    plmn: NotRequired[str | None]
    """Mobile country and network code"""
    operatorName: NotRequired[str | None]
    """Name the network announces"""
    band: NotRequired[str | None]
    """Band as the modem names it, such as B20 or n78"""
    arfcn: NotRequired[float | None]
    """Channel number: ARFCN, UARFCN, EARFCN or NR-ARFCN, as the RAT says"""
    bandwidthMhz: NotRequired[float | None]
    """Channel bandwidth (MHz)"""
    pci: NotRequired[float | None]
    """Physical cell id"""
    cellId: NotRequired[str | None]
    """Cell identity: CI, ECI or NCI"""
    tac: NotRequired[str | None]
    """Tracking or location area code"""
    rssiDbm: NotRequired[float | None]
    """Received signal strength (dBm)"""
    rsrpDbm: NotRequired[float | None]
    """Reference signal received power (dBm)"""
    rsrqDb: NotRequired[float | None]
    """Reference signal received quality (dB)"""
    sinrDb: NotRequired[float | None]
    """Signal to interference and noise ratio (dB)"""
    cqi: NotRequired[float | None]
    """Channel quality indicator"""
    signalPercent: NotRequired[float | None]
    """Signal strength as the modem rates it (%)"""
    nrRsrpDbm: NotRequired[float | None]
    """RSRP of the NR leg in EN-DC (dBm)"""
    nrRsrqDb: NotRequired[float | None]
    """RSRQ of the NR leg in EN-DC (dB)"""
    nrSinrDb: NotRequired[float | None]
    """SINR of the NR leg in EN-DC (dB)"""
    nrArfcn: NotRequired[float | None]
    """NR-ARFCN of the NR leg in EN-DC"""
    nrPci: NotRequired[float | None]
    """Physical cell id of the NR leg in EN-DC"""
    nrBand: NotRequired[str | None]
    """Band of the NR leg in EN-DC"""
    cells: NotRequired["list[TelemetryReportSampleCellularCell] | None"]
    """Carriers and neighbours seen beside the serving cell"""
    lat: NotRequired[float | None]
    """Latitude the router stamped on the sample (WGS 84) (°)"""
    lon: NotRequired[float | None]
    """Longitude the router stamped on the sample (WGS 84) (°)"""
    accuracyM: NotRequired[float | None]
    """Accuracy of the stamped position (m)"""
    fixAgeMs: NotRequired[float | None]
    """Age of the stamped position when the sample was taken (ms)"""
    kind: Literal["cellular"]
    ts: NotRequired[str | int]
    """RFC 3339 or epoch milliseconds"""
    ageMs: NotRequired[float]
    """Age of the sample when sent without `ts`; of the fix in a location with one"""


class TelemetryReportSampleConnection(TypedDict):
    modem: NotRequired[str | None]
    """Name by which the router tells its modems apart; left out by a router with one modem"""
    simPlmn: NotRequired[str | None]
    """Mobile country and network code of the operator that issued the SIM"""
    state: NotRequired["ConnectionState | None"]
    """State of the uplink"""
    interface: NotRequired[str | None]
    """Interface the uplink runs on"""
    rat: NotRequired["RadioAccessTechnology | None"]
    """Radio access technology; none means no service"""
    registration: NotRequired["Registration | None"]
    """Registration with the network"""
    operatorName: NotRequired[str | None]
    """Name the network announces"""
    plmn: NotRequired[str | None]
    """Mobile country and network code"""
    apn: NotRequired[str | None]
    """Access point name"""
    simSlot: NotRequired[float | None]
    """SIM slot in use"""
    iccid: NotRequired[str | None]
    """Serial number of the SIM"""
    imsi: NotRequired[str | None]
    """Subscriber identity"""
    wanIp: NotRequired[str | None]
    """Address on the uplink"""
    uptimeS: NotRequired[float | None]
    """How long the uplink has been up (s)"""
    latencyMs: NotRequired[float | None]
    """Round-trip time (ms)"""
    jitterMs: NotRequired[float | None]
    """Variation of the round-trip time (ms)"""
    lossPct: NotRequired[float | None]
    """Packets lost (%)"""
    rxBytes: NotRequired[float | None]
    """Bytes received since the uplink came up (bytes)"""
    txBytes: NotRequired[float | None]
    """Bytes sent since the uplink came up (bytes)"""
    kind: Literal["connection"]
    ts: NotRequired[str | int]
    """RFC 3339 or epoch milliseconds"""
    ageMs: NotRequired[float]
    """Age of the sample when sent without `ts`; of the fix in a location with one"""


class TelemetryReportSampleLocation(TypedDict):
    lat: NotRequired[float | None]
    """Latitude (WGS 84) (°)"""
    lon: NotRequired[float | None]
    """Longitude (WGS 84) (°)"""
    fix: NotRequired[Literal["none", "2d", "3d"] | None]
    """Kind of fix"""
    fixTs: NotRequired[str | int | None]
    """When the receiver made the fix; `ageMs` may be sent instead"""
    accuracyM: NotRequired[float | None]
    """Horizontal accuracy (m)"""
    hdop: NotRequired[float | None]
    """Horizontal dilution of precision"""
    satellites: NotRequired[float | None]
    """Satellites used"""
    altitudeM: NotRequired[float | None]
    """Altitude (m)"""
    speedMps: NotRequired[float | None]
    """Speed over ground (m/s)"""
    headingDeg: NotRequired[float | None]
    """Course over ground, clockwise from north (°)"""
    source: NotRequired[Literal["gnss", "cell", "manual", "fused"] | None]
    """Where the position comes from"""
    kind: Literal["location"]
    ts: NotRequired[str | int]
    """RFC 3339 or epoch milliseconds"""
    ageMs: NotRequired[float]
    """Age of the sample when sent without `ts`; of the fix in a location with one"""


class TelemetryReportSampleSystem(TypedDict):
    cpuPct: NotRequired[float | None]
    """Processor load (%)"""
    memUsedPct: NotRequired[float | None]
    """Memory in use (%)"""
    diskUsedPct: NotRequired[float | None]
    """Storage in use (%)"""
    load1: NotRequired[float | None]
    """Load average over one minute"""
    temperatureC: NotRequired[float | None]
    """Temperature of the board (°C)"""
    modemTemperatureC: NotRequired[float | None]
    """Temperature of the modem (°C)"""
    inputVoltageV: NotRequired[float | None]
    """Supply voltage (V)"""
    uptimeS: NotRequired[float | None]
    """Time since the router started (s)"""
    firmware: NotRequired[str | None]
    """Firmware version running"""
    rebootReason: NotRequired[str | None]
    """Why the router last started"""
    clients: NotRequired[float | None]
    """Connected clients"""
    fault: NotRequired[str | None]
    """What is wrong, when the router knows of a fault"""
    kind: Literal["system"]
    ts: NotRequired[str | int]
    """RFC 3339 or epoch milliseconds"""
    ageMs: NotRequired[float]
    """Age of the sample when sent without `ts`; of the fix in a location with one"""


TelemetryReportSample: TypeAlias = (
    "TelemetryReportSampleCellular | "
    "TelemetryReportSampleConnection | "
    "TelemetryReportSampleLocation | "
    "TelemetryReportSampleSystem"
)


class TelemetryReport(TypedDict):
    sentAt: NotRequired[str | int]
    """RFC 3339 or epoch milliseconds"""
    batchId: NotRequired[str]
    samples: "list[TelemetryReportSample]"


class AcceptedReportRejectedItem(TypedDict):
    index: int
    code: str
    detail: str


class AcceptedReport(TypedDict):
    accepted: int
    rejected: "list[AcceptedReportRejectedItem]"
    jobsPending: int
    """Jobs that wait for the device."""


class EnrollDeviceRequest(TypedDict):
    enrollmentKey: str
    serial: str
    model: str
    name: NotRequired[str]
    nonce: NotRequired[str]
    """Random text that the router chooses once and keeps, at least 128 bits of it. An enrollment that is repeated with
    the same nonce within 24 hours returns the same device and a new token.
    """


class EnrolledDevice(TypedDict):
    deviceId: str
    token: str


class NextJob(TypedDict):
    id: str
    kind: "JobKind"
    attempt: int
    parameters: dict[str, Any]
    cancelRequested: bool
    expiresAt: str


class ReportJobStatusRequest(TypedDict):
    attempt: int
    status: Literal["inProgress", "succeeded", "failed", "rejected"]
    progress: NotRequired[float]
    code: NotRequired[str]
    """Why the job `failed` or was `rejected`, for programs, such as `rolled_back`. By default the status."""
    detail: NotRequired[str | dict[str, Any]]
    """A sentence, or results such as those of a speed test."""


class ReportedJob(TypedDict):
    status: str
    cancelRequested: bool


class AppliedConfigProfile(TypedDict):
    id: str
    version: int
    settings: dict[str, Any]
    secrets: list[str]
    """JSON pointers of the secrets in `settings`."""
    digest: str
    """`sha256:` and the SHA-256 of the canonical JSON (RFC 8785) of `settings` without secrets."""


class AppliedConfig(TypedDict):
    profile: "AppliedConfigProfile"


class ReportedConfig(TypedDict):
    profileId: str
    version: int
    digest: str
    """The digest of what runs, without secrets. That of the profile if nothing differs."""
    settings: NotRequired[dict[str, Any]]
    """What runs, without secrets. Not needed for the digest of the profile."""


class JudgedConfig(TypedDict):
    state: Literal["inSync", "pending", "differs", "unknown"]


class ReportOpenwispTelemetryRequest(TypedDict):
    type: Literal["DeviceMonitoring"]


class OpenwispError(TypedDict):
    detail: str


class InfluxError(TypedDict):
    code: str
    message: str


TeltonikaRecord: TypeAlias = (
    "dict[str, Any]"
)


class AdapterOutcomeRejectedItem(TypedDict):
    index: int
    code: str
    detail: str


class AdapterOutcome(TypedDict):
    accepted: int
    rejected: "list[AdapterOutcomeRejectedItem]"
    dropped: int
    """Values that have no field or cannot be converted."""


ReportOtlpTelemetryRequestResourceMetric: TypeAlias = (
    "dict[str, Any]"
)


class ReportOtlpTelemetryRequest(TypedDict):
    resourceMetrics: NotRequired["list[ReportOtlpTelemetryRequestResourceMetric]"]


class OtlpStatus(TypedDict):
    code: int
    message: str


class ReportOtlpTelemetryResultPartialSuccess(TypedDict):
    rejectedDataPoints: str
    errorMessage: str


class ReportOtlpTelemetryResult(TypedDict):
    partialSuccess: NotRequired["ReportOtlpTelemetryResultPartialSuccess"]


class ReportModemmanagerTelemetryRequest(TypedDict):
    modem: dict[str, Any]


class Liveness(TypedDict):
    alive: Literal[True]


class ReadinessCopy(TypedDict):
    name: str
    answers: bool
    lagS: float | None
    """Reports that were accepted longer ago can be read. Null if unknown."""
    isRead: bool


class Readiness(TypedDict):
    version: str
    """The version that this process runs."""
    ready: bool
    checks: dict[str, Literal["ok", "failed"]]
    copies: NotRequired["list[ReadinessCopy]"]
    """The copies of QuestDB, if there are several."""


class InstalledMapSettings(TypedDict):
    stored: "MapSettings"
    effective: "MapSettings"
    """What the page uses: the environment of the control plane, else what is stored."""
    environment: list[str]
    """The environment variables that replace stored settings, such as `MAP_STYLE_URL`."""


class MapSettingsBackgroundOffline(TypedDict):
    kind: Literal["offline"]


class MapSettingsBackgroundStyle(TypedDict):
    kind: Literal["style"]
    styleUrl: str
    """A MapLibre style."""
    darkStyleUrl: NotRequired[str]
    """The style of the dark theme. Default: `styleUrl`."""


class MapSettingsBackgroundPmtiles(TypedDict):
    kind: Literal["pmtiles"]
    file: str
    """The path of a PMTiles file on the servers of the control plane."""


# `offline` is the map of the world, which needs no other server.
MapSettingsBackground: TypeAlias = (
    "MapSettingsBackgroundOffline | "
    "MapSettingsBackgroundStyle | "
    "MapSettingsBackgroundPmtiles"
)


class MapSettingsSatellite(TypedDict):
    tilesUrl: str
    """The address of raster tiles with `{z}`, `{x}` and `{y}`."""
    attribution: str
    maxZoom: int


class MapSettings(TypedDict):
    background: "MapSettingsBackground"
    satellite: "MapSettingsSatellite | None"
    """Satellite images that a reader can choose; null for none."""
    origins: list[str]
    """Other origins from which the styles load tiles, fonts and images."""


class ReplaceMapSettingsRequestBackgroundOffline(TypedDict):
    kind: Literal["offline"]


class ReplaceMapSettingsRequestBackgroundStyle(TypedDict):
    kind: Literal["style"]
    styleUrl: str
    """A MapLibre style."""
    darkStyleUrl: NotRequired[str]
    """The style of the dark theme. Default: `styleUrl`."""


class ReplaceMapSettingsRequestBackgroundPmtiles(TypedDict):
    kind: Literal["pmtiles"]
    file: str
    """The path of a PMTiles file on the servers of the control plane."""


# `offline` is the map of the world, which needs no other server.
ReplaceMapSettingsRequestBackground: TypeAlias = (
    "ReplaceMapSettingsRequestBackgroundOffline | "
    "ReplaceMapSettingsRequestBackgroundStyle | "
    "ReplaceMapSettingsRequestBackgroundPmtiles"
)


class ReplaceMapSettingsRequestSatellite(TypedDict):
    tilesUrl: str
    """The address of raster tiles with `{z}`, `{x}` and `{y}`."""
    attribution: NotRequired[str]
    maxZoom: NotRequired[int]


class ReplaceMapSettingsRequest(TypedDict):
    background: "ReplaceMapSettingsRequestBackground"
    satellite: NotRequired["ReplaceMapSettingsRequestSatellite | None"]
    """Satellite images that a reader can choose; null for none."""
    origins: NotRequired[list[str]]
    """Other origins from which the styles load tiles, fonts and images."""


class OpenApiDocument(TypedDict):
    openapi: str


ExportDevicesSort: TypeAlias = Literal[
    "name",
    "-name",
    "serial",
    "-serial",
    "model",
    "-model",
    "status",
    "-status",
    "firmware",
    "-firmware",
    "lastSeenAt",
    "-lastSeenAt",
    "createdAt",
    "-createdAt",
    "signal",
    "-signal",
    "operator",
    "-operator",
    "modems",
    "-modems",
    "near",
    "-near",
    "dataToday",
    "-dataToday",
    "dataMonth",
    "-dataMonth",
]


ExportDevicesInclude: TypeAlias = Literal["signal", "near", "dataUse"]


ListAlertsState: TypeAlias = Literal["open", "acknowledged", "closed"]


GetFleetGpsFields: TypeAlias = Literal[
    "deviceId",
    "organizationId",
    "name",
    "status",
    "location.lat",
    "location.lon",
    "location.fix",
    "location.ts",
    "location.ageMs",
    "location.accuracyM",
    "location.speedMps",
    "location.headingDeg",
    "signal.ts",
    "signal.ageMs",
    "signal.modem",
    "signal.rat",
    "signal.plmn",
    "signal.operatorName",
    "signal.rsrpDbm",
    "signal.rsrqDb",
    "signal.sinrDb",
    "signal.nrRsrpDbm",
    "signal.quality",
    "signal.qualityBasis",
    "signal.alignment",
    "signal.alignErrorM",
    "signal.lat",
    "signal.lon",
    "signal.completedFrom",
    "dwell.arrivedAt",
    "dwell.durationS",
    "dwell.lat",
    "dwell.lon",
    "dwell.radiusM",
    "location",
    "signal",
    "dwell",
]


GetFleetGpsInclude: TypeAlias = Literal["devices", "coverage", "dwells", "trails", "modems"]


ListRadioHealthStatus: TypeAlias = Literal["fault", "suspect", "ok", "unknown"]


GetFleetTileLayers: TypeAlias = Literal["devices", "coverage", "dwells"]
