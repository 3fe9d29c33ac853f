# Generated from the OpenAPI document by `npm run generate` in clients/typescript. Do not edit.

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, overload

from . import types
from ._call import Call, segment
from ._download import Download
from ._listing import Listing
from ._requests import Requests


class Operations(Requests):
    """One method for each operation of the API."""

    def create_organization(
        self,
        body: types.CreateOrganizationRequest,
        *,
        idempotency_key: str | None = None,
    ) -> types.Organization:
        """Create an organization

        Requires the API key of a platform administrator.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.Organization = self._json(Call(
            "POST",
            "/orgs",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    def list_organizations(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.Organization, types.OrganizationPage]:
        """List organizations

        Requires an API key or an access token with any scope.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call("GET", "/orgs", query={"cursor": cursor, "limit": limit}))

    def get_organization(self, org_id: str) -> types.Organization:
        """Get an organization

        Requires the scope `org:read`.
        """
        answer: types.Organization = self._json(Call("GET", f"/orgs/{segment(org_id)}"))
        return answer

    def update_organization(self, org_id: str, body: types.UpdateOrganizationRequest) -> types.Organization:
        """Rename an organization

        Requires the scope `org:write`.
        """
        answer: types.Organization = self._json(Call("PATCH", f"/orgs/{segment(org_id)}", json=body))
        return answer

    def replace_subscription(self, org_id: str, body: types.ReplaceSubscriptionRequest) -> types.Organization:
        """Set an organization’s subscription

        For billing systems. While the status is `suspended` or `cancelled`, writes return 402. Telemetry is
        accepted for 30 more days.

        Requires the API key of a platform administrator.
        """
        answer: types.Organization = self._json(Call("PUT", f"/orgs/{segment(org_id)}/subscription", json=body))
        return answer

    def get_usage(self, org_id: str) -> types.Usage:
        """Get an organization’s usage and limits

        Requires the scope `org:read`.
        """
        answer: types.Usage = self._json(Call("GET", f"/orgs/{segment(org_id)}/usage"))
        return answer

    def list_plans(self, *, cursor: str | None = None, limit: int | None = None) -> Listing[types.Plan, types.PlanPage]:
        """List plans

        The plans that an organization can have, with their limits.

        Requires an API key or an access token with any scope.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call("GET", "/plans", query={"cursor": cursor, "limit": limit}))

    def list_audit_records(
        self,
        org_id: str,
        *,
        action: str | None = None,
        actor: str | None = None,
        subject_id: str | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.AuditRecord, types.AuditRecordPage]:
        """List audit records

        Requires the scope `audit:read`.

        Args:
            from_: Records at this time or later.
            to: Records before this time.
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            f"/orgs/{segment(org_id)}/audit",
            query={
                "action": action,
                "actor": actor,
                "subjectId": subject_id,
                "from": from_,
                "to": to,
                "cursor": cursor,
                "limit": limit,
            },
        ))

    def list_platform_audit_records(
        self,
        *,
        action: str | None = None,
        actor: str | None = None,
        subject_id: str | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.AuditRecord, types.AuditRecordPage]:
        """List audit records of the platform

        Records that belong to no organization: sign-ins of platform administrators, and sessions that the platform
        ended.

        Requires the API key of a platform administrator.

        Args:
            from_: Records at this time or later.
            to: Records before this time.
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            "/audit",
            query={
                "action": action,
                "actor": actor,
                "subjectId": subject_id,
                "from": from_,
                "to": to,
                "cursor": cursor,
                "limit": limit,
            },
        ))

    def create_tool_call(
        self,
        org_id: str,
        body: types.CreateToolCallRequest,
        *,
        idempotency_key: str | None = None,
    ) -> None:
        """Record the call of a tool

        Writes the audit record `tool.called`. Programs that act for a person, such as the MCP server of the command
        line, record each tool before they run it. Needs any scope in the organization. It counts towards the rate
        limit like every request.

        Requires an API key or an access token with any scope.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        self._none(Call(
            "POST",
            f"/orgs/{segment(org_id)}/tool-calls",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))

    def create_api_key(
        self,
        org_id: str,
        body: types.CreateApiKeyRequest,
        *,
        idempotency_key: str | None = None,
    ) -> types.NewApiKey:
        """Create an API key

        The key is returned only once. You can grant scopes that you hold. With `alsoIn`, the key also works in
        other organizations in which you hold `key:manage` and the granted scopes.

        Requires the scope `key:manage`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.NewApiKey = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/api-keys",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    def list_api_keys(
        self,
        org_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.ApiKey, types.ApiKeyPage]:
        """List API keys

        Requires the scope `key:manage`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call("GET", f"/orgs/{segment(org_id)}/api-keys", query={"cursor": cursor, "limit": limit}))

    def rotate_api_key(
        self,
        org_id: str,
        id: str,
        body: types.RotateApiKeyRequest | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> types.NewApiKey:
        """Rotate an API key

        Creates a key with the same name, scopes and expiry, and ends the old key after a grace period. Only the
        organization that owns the key can rotate it, and you must hold its scopes.

        Requires the scope `key:manage`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.NewApiKey = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/api-keys/{segment(id)}/rotate",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    def delete_api_key(self, org_id: str, id: str) -> None:
        """Revoke an API key

        Revokes the key and all access tokens issued for it within 5 seconds. A key of another organization loses
        its scopes in this organization only.

        Requires the scope `key:manage`.
        """
        self._none(Call("DELETE", f"/orgs/{segment(org_id)}/api-keys/{segment(id)}"))

    def create_enrollment_key(
        self,
        org_id: str,
        body: types.CreateEnrollmentKeyRequest,
        *,
        idempotency_key: str | None = None,
    ) -> types.NewEnrollmentKey:
        """Create an enrollment key

        Routers use the key to enroll. With `autoCreate`, unknown serials are registered; otherwise, only registered
        serials can enroll. With `allowGateway`, `apps/gateway` can use the key. For `allowGateway`, you also need
        `device:update` and `config:apply`, because a gateway reads configurations and takes jobs.

        Requires the scope `org:write`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.NewEnrollmentKey = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/enrollment-keys",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    def list_enrollment_keys(
        self,
        org_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.EnrollmentKey, types.EnrollmentKeyPage]:
        """List enrollment keys

        Requires the scope `org:write`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            f"/orgs/{segment(org_id)}/enrollment-keys",
            query={"cursor": cursor, "limit": limit},
        ))

    def delete_enrollment_key(self, org_id: str, id: str) -> None:
        """Revoke an enrollment key

        Requires the scope `org:write`.
        """
        self._none(Call("DELETE", f"/orgs/{segment(org_id)}/enrollment-keys/{segment(id)}"))

    def create_access_token(
        self,
        body: types.CreateAccessTokenRequest | dict[str, Any] | None = None,
    ) -> types.AccessToken:
        """Exchange an API key for a short-lived access token

        OAuth 2.0 client credentials grant. Send the key’s id and secret (or the whole key as the secret) with HTTP
        Basic or as form fields, at most 64 KiB.

        Requires the id and the secret of an API key.
        """
        answer: types.AccessToken = self._json(Call("POST", "/auth/token", form=body, needs_key=False))
        return answer

    def get_signing_keys(self) -> types.SigningKeys:
        """Get the public keys that sign access tokens

        Requires no credentials.
        """
        answer: types.SigningKeys = self._json(Call("GET", "/.well-known/jwks.json", needs_key=False))
        return answer

    def list_people(
        self,
        org_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.Person, types.PersonPage]:
        """List people

        The people who accepted an invitation to the organization. Users to whom only the identity provider gives a
        role are not listed.

        Requires the scope `key:manage`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call("GET", f"/orgs/{segment(org_id)}/people", query={"cursor": cursor, "limit": limit}))

    def update_person(self, org_id: str, id: str, body: types.UpdatePersonRequest) -> types.Person:
        """Change the role of a person

        Takes effect within 5 seconds. You can give a role whose scopes you hold.

        Requires the scope `key:manage`.
        """
        answer: types.Person = self._json(Call("PATCH", f"/orgs/{segment(org_id)}/people/{segment(id)}", json=body))
        return answer

    def delete_person(self, org_id: str, id: str) -> None:
        """Remove a person

        The person has no access to the organization within 5 seconds. API keys that the person created keep
        working.

        Requires the scope `key:manage`.
        """
        self._none(Call("DELETE", f"/orgs/{segment(org_id)}/people/{segment(id)}"))

    def create_person_sign_in_link(
        self,
        org_id: str,
        id: str,
        *,
        idempotency_key: str | None = None,
    ) -> types.SignInLink:
        """Create a sign-in link for a person

        For people who joined without e-mail. The link works once and for 24 hours, and is returned only once. You
        must hold the scopes of the person’s role.

        Requires the scope `key:manage`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.SignInLink = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/people/{segment(id)}/sign-in-links",
            headers={"Idempotency-Key": idempotency_key},
        ))
        return answer

    def create_invitation(
        self,
        org_id: str,
        body: types.CreateInvitationRequest,
        *,
        idempotency_key: str | None = None,
    ) -> types.NewInvitation:
        """Invite a person

        The service sends a link to the address within seconds. Without a mail server, `url` is the link, which is
        returned only once. It is valid for 7 days. A new invitation of the same address replaces the earlier one.
        You can give a role whose scopes you hold.

        Requires the scope `key:manage`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.NewInvitation = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/invitations",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    def list_invitations(
        self,
        org_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.Invitation, types.InvitationPage]:
        """List invitations

        Requires the scope `key:manage`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call("GET", f"/orgs/{segment(org_id)}/invitations", query={"cursor": cursor, "limit": limit}))

    def delete_invitation(self, org_id: str, id: str) -> None:
        """Withdraw an invitation

        Its link stops working at once.

        Requires the scope `key:manage`.
        """
        self._none(Call("DELETE", f"/orgs/{segment(org_id)}/invitations/{segment(id)}"))

    def get_invitation_by_link(self, body: types.GetInvitationByLinkRequest) -> types.LinkedInvitation:
        """Get the invitation of a link

        For the web page, which the links open. Changes nothing.

        Requires no credentials.
        """
        answer: types.LinkedInvitation = self._json(Call("POST", "/auth/invitation-links", json=body, needs_key=False))
        return answer

    def accept_invitation(self, body: types.AcceptInvitationRequest) -> types.Caller:
        """Accept an invitation

        Uses the link up, and signs the person in with the session cookie. For the web page.

        Requires no credentials.
        """
        answer: types.Caller = self._json(Call("POST", "/auth/invitation-acceptances", json=body, needs_key=False))
        return answer

    def create_sign_in_link(self, *, idempotency_key: str | None = None) -> types.SignInLink:
        """Create a sign-in link

        One person can sign in to the web page with the link, once and within ten minutes. The session has the
        scopes of the API key that creates the link.

        Requires an API key or an access token with any scope.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.SignInLink = self._json(Call(
            "POST",
            "/auth/sign-in-links",
            headers={"Idempotency-Key": idempotency_key},
        ))
        return answer

    def create_session(self, body: types.CreateSessionRequest) -> types.Caller:
        """Sign in with a link

        Uses the link up and sets the session cookie. For the web page; integrations use API keys.

        Requires no credentials.
        """
        answer: types.Caller = self._json(Call("POST", "/auth/session", json=body, needs_key=False))
        return answer

    def get_session(self) -> types.SignInState:
        """Get the sign-in session of this browser

        For the web page: who is signed in with the session cookie, and how people can sign in.

        Requires no credentials.
        """
        answer: types.SignInState = self._json(Call("GET", "/auth/session", needs_key=False))
        return answer

    def delete_session(self) -> None:
        """Sign out

        Ends the sign-in session of this browser and removes its cookie.

        Requires no credentials.
        """
        self._none(Call("DELETE", "/auth/session", needs_key=False))

    def send_sign_in_mail(self, body: types.SendSignInMailRequest) -> types.SentSignInMail:
        """Send a sign-in link by e-mail

        For people who joined an organization. The message follows within seconds, at most once a minute and five
        times an hour. The answer is the same for an address that belongs to nobody.

        Requires no credentials.
        """
        answer: types.SentSignInMail = self._json(Call("POST", "/auth/sign-in-mails", json=body, needs_key=False))
        return answer

    def get_caller(self) -> types.Caller:
        """Get the caller

        Who the credentials of this request belong to, and the scopes in each organization.

        Requires an API key or an access token with any scope.
        """
        answer: types.Caller = self._json(Call("GET", "/auth/me"))
        return answer

    def update_caller(self, body: types.UpdateCallerRequest) -> types.Caller:
        """Change your name

        For people who joined with an invitation: how colleagues see them, in all their organizations.

        Requires an API key or an access token with any scope.
        """
        answer: types.Caller = self._json(Call("PATCH", "/auth/me", json=body))
        return answer

    def list_own_sessions(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.Session, types.SessionPage]:
        """List your sign-in sessions

        The sessions of the same person or user, or those that began with a sign-in link of the same API key.

        Requires an API key or an access token with any scope.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call("GET", "/auth/sessions", query={"cursor": cursor, "limit": limit}))

    def delete_own_session(self, id: str) -> None:
        """End one of your sign-in sessions

        The session stops working within 5 seconds.

        Requires an API key or an access token with any scope.
        """
        self._none(Call("DELETE", f"/auth/sessions/{segment(id)}"))

    def list_platform_sessions(
        self,
        *,
        platform: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.PlatformSession, types.PlatformSessionPage]:
        """List the sign-in sessions of all people

        Requires the API key of a platform administrator.

        Args:
            platform: Only sessions of platform administrators, or only those of other people.
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call("GET", "/sessions", query={"platform": platform, "cursor": cursor, "limit": limit}))

    def delete_platform_session(self, id: str) -> None:
        """End the sign-in session of any person

        The session stops working within 5 seconds. The person can sign in again: to prevent that, revoke the API
        key, or remove the person or the role at the identity provider.

        Requires the API key of a platform administrator.
        """
        self._none(Call("DELETE", f"/sessions/{segment(id)}"))

    def list_organization_sessions(
        self,
        org_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.OrganizationSession, types.OrganizationSessionPage]:
        """List the sign-in sessions of an organization

        The sessions that began with a sign-in link of an API key of the organization, and those of people and of
        users to whom the identity provider gives a role in it.

        Requires the scope `key:manage`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call("GET", f"/orgs/{segment(org_id)}/sessions", query={"cursor": cursor, "limit": limit}))

    def delete_organization_session(self, org_id: str, id: str) -> None:
        """End a sign-in session of an organization

        The session stops working within 5 seconds, in all organizations of the person. The person can sign in
        again: to prevent that, revoke the API key, or remove the person or the role at the identity provider.

        Requires the scope `key:manage`.
        """
        self._none(Call("DELETE", f"/orgs/{segment(org_id)}/sessions/{segment(id)}"))

    def import_devices(
        self,
        body: str | bytes,
        *,
        content_type: Literal["text/csv", "application/x-ndjson"],
        dry_run: bool | None = None,
        org_id: str,
        atomic: bool | None = None,
        existing: Literal["fail", "update"] | None = None,
        tokens: bool | None = None,
        idempotency_key: str | None = None,
    ) -> types.DeviceImport:
        """Import devices from a file

        Send CSV with the header `serial,name,model,tags,notes` (tags separated by `;`; tags and notes are optional)
        or NDJSON with one device per line, in UTF-8 or UTF-16, up to 10000 rows and 8 MiB. Columns can also be
        separated by semicolons or tabs, and a tag with a semicolon is in quotes. Rows and last columns without
        content are skipped. Other columns of an exported file are ignored, so that you can edit and import it
        again. Invalid rows do not affect the other rows unless `atomic` is true.

        Requires the scope `device:create`.

        Args:
            dry_run: Checks everything, changes nothing, and returns 200 with what would happen.
            atomic: Creates either all devices or none.
            existing: What happens to a row whose serial a device already has: it fails, or it changes the name,
                model, tags and notes of the device (needs `device:update`). Without a column `tags` or `notes`, the
                device keeps them.
            tokens: Issues a token for each device. Tokens are returned only once.
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.DeviceImport = self._json(Call(
            "POST",
            "/devices/import",
            query={"dryRun": dry_run, "orgId": org_id, "atomic": atomic, "existing": existing, "tokens": tokens},
            headers={"Idempotency-Key": idempotency_key},
            content=body,
            content_type=content_type,
        ))
        return answer

    def export_devices(
        self,
        *,
        format: Literal["csv", "ndjson"] | None = None,
        org_id: str | None = None,
        status: types.DeviceStatus | None = None,
        q: str | None = None,
        tag: str | Sequence[str] | None = None,
        device_id: str | Sequence[str] | None = None,
        config_state: Literal["inSync", "pending", "differs", "unknown"] | None = None,
        place_id: str | None = None,
        group_id: str | None = None,
        firmware: str | None = None,
        rat: types.RadioAccessTechnology | None = None,
        plmn: str | None = None,
        modems: Literal["several", "withoutService"] | None = None,
        near: str | None = None,
        bbox: str | None = None,
        signal: str | Sequence[str] | None = None,
        seen_within_minutes: int | None = None,
        silent_for_minutes: int | None = None,
        min_today_bytes: int | None = None,
        min_month_bytes: int | None = None,
        sort: types.ExportDevicesSort | None = None,
        include: types.ExportDevicesInclude | Sequence[types.ExportDevicesInclude] | None = None,
    ) -> Download:
        """Export devices as a file

        Streams all devices that match the filters, newest first or in the requested order. With `include`, the file
        has more columns. The connection closes before the end of the file if the key or the session is revoked or
        loses its access during the download.

        Requires the scope `device:read`.

        Args:
            org_id: Returns devices of this organization only. By default, the list contains all organizations that
                you can read.
            q: Case-insensitive substring of name, serial, model or organization name.
            tag: Can be repeated. Returns devices that have all of these tags.
            device_id: Can be repeated. Returns only these devices.
            config_state: Whether devices run the profile that was last applied to them.
            place_id: Returns devices whose last position is inside this place. Needs `fleet:read`.
            group_id: Returns the effective members of this group. Needs `group:read`.
            firmware: Returns devices with exactly this firmware version.
            rat: Returns devices whose active modem last used this radio technology. Needs `fleet:read`.
            plmn: Returns devices whose active modem last used this operator. Needs `fleet:read`.
            modems: `several`: devices of which more than one modem reported in the last 24 hours. `withoutService`:
                devices of which a modem has no service. Needs `fleet:read`.
            near: A part of the name of a town, regardless of case and accents. Returns devices to which such a town
                is the nearest. Needs `fleet:read`.
            bbox: Returns devices whose last position is in this box: west, south, east and north in degrees. west >
                east is a box across the antimeridian. Needs `fleet:read`.
            signal: Can be repeated. Returns devices whose active modem has a signal of one of these classes; `none`
                is no service, `unknown` no signal in the last 24 hours. Needs `fleet:read`.
            seen_within_minutes: Returns devices that reported within the last minutes.
            silent_for_minutes: Returns devices whose last report is older than so many minutes.
            min_today_bytes: Returns devices that have used at least so many bytes on this UTC day, in both
                directions together. Needs `telemetry:read`.
            min_month_bytes: The same since the start of this UTC month.
            sort: Order of the list; descending with a minus sign. By default, newest first. `signal` (RSRP of the
                active modem), `operator`, `modems` (those without service, then the number) and `near` (name of the
                nearest town, then country) need `fleet:read`; `dataToday` and `dataMonth` need `telemetry:read`.
                With these orders, devices without a value come last. A device whose value changes while you read
                page by page can be missing or appear twice.
            include: Parts to add to each device: `signal`, with `modems`, which needs `fleet:read`; `near`; and
                `dataUse`, which needs `telemetry:read`.
        """
        return self._download(Call(
            "GET",
            "/devices/export",
            query={
                "format": format,
                "orgId": org_id,
                "status": status,
                "q": q,
                "tag": tag,
                "deviceId": device_id,
                "configState": config_state,
                "placeId": place_id,
                "groupId": group_id,
                "firmware": firmware,
                "rat": rat,
                "plmn": plmn,
                "modems": modems,
                "near": near,
                "bbox": bbox,
                "signal": signal,
                "seenWithinMinutes": seen_within_minutes,
                "silentForMinutes": silent_for_minutes,
                "minTodayBytes": min_today_bytes,
                "minMonthBytes": min_month_bytes,
                "sort": sort,
                "include": include,
            },
        ))

    def list_devices(
        self,
        *,
        org_id: str | None = None,
        status: types.DeviceStatus | None = None,
        q: str | None = None,
        tag: str | Sequence[str] | None = None,
        device_id: str | Sequence[str] | None = None,
        config_state: Literal["inSync", "pending", "differs", "unknown"] | None = None,
        place_id: str | None = None,
        group_id: str | None = None,
        firmware: str | None = None,
        rat: types.RadioAccessTechnology | None = None,
        plmn: str | None = None,
        modems: Literal["several", "withoutService"] | None = None,
        near: str | None = None,
        bbox: str | None = None,
        signal: str | Sequence[str] | None = None,
        seen_within_minutes: int | None = None,
        silent_for_minutes: int | None = None,
        min_today_bytes: int | None = None,
        min_month_bytes: int | None = None,
        sort: types.ExportDevicesSort | None = None,
        include: types.ExportDevicesInclude | Sequence[types.ExportDevicesInclude] | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.ListedDevice, types.ListedDevicePage]:
        """List devices

        Requires the scope `device:read`.

        Args:
            org_id: Returns devices of this organization only. By default, the list contains all organizations that
                you can read.
            q: Case-insensitive substring of name, serial, model or organization name.
            tag: Can be repeated. Returns devices that have all of these tags.
            device_id: Can be repeated. Returns only these devices.
            config_state: Whether devices run the profile that was last applied to them.
            place_id: Returns devices whose last position is inside this place. Needs `fleet:read`.
            group_id: Returns the effective members of this group. Needs `group:read`.
            firmware: Returns devices with exactly this firmware version.
            rat: Returns devices whose active modem last used this radio technology. Needs `fleet:read`.
            plmn: Returns devices whose active modem last used this operator. Needs `fleet:read`.
            modems: `several`: devices of which more than one modem reported in the last 24 hours. `withoutService`:
                devices of which a modem has no service. Needs `fleet:read`.
            near: A part of the name of a town, regardless of case and accents. Returns devices to which such a town
                is the nearest. Needs `fleet:read`.
            bbox: Returns devices whose last position is in this box: west, south, east and north in degrees. west >
                east is a box across the antimeridian. Needs `fleet:read`.
            signal: Can be repeated. Returns devices whose active modem has a signal of one of these classes; `none`
                is no service, `unknown` no signal in the last 24 hours. Needs `fleet:read`.
            seen_within_minutes: Returns devices that reported within the last minutes.
            silent_for_minutes: Returns devices whose last report is older than so many minutes.
            min_today_bytes: Returns devices that have used at least so many bytes on this UTC day, in both
                directions together. Needs `telemetry:read`.
            min_month_bytes: The same since the start of this UTC month.
            sort: Order of the list; descending with a minus sign. By default, newest first. `signal` (RSRP of the
                active modem), `operator`, `modems` (those without service, then the number) and `near` (name of the
                nearest town, then country) need `fleet:read`; `dataToday` and `dataMonth` need `telemetry:read`.
                With these orders, devices without a value come last. A device whose value changes while you read
                page by page can be missing or appear twice.
            include: Parts to add to each device: `signal`, with `modems`, which needs `fleet:read`; `near`; and
                `dataUse`, which needs `telemetry:read`.
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            "/devices",
            query={
                "orgId": org_id,
                "status": status,
                "q": q,
                "tag": tag,
                "deviceId": device_id,
                "configState": config_state,
                "placeId": place_id,
                "groupId": group_id,
                "firmware": firmware,
                "rat": rat,
                "plmn": plmn,
                "modems": modems,
                "near": near,
                "bbox": bbox,
                "signal": signal,
                "seenWithinMinutes": seen_within_minutes,
                "silentForMinutes": silent_for_minutes,
                "minTodayBytes": min_today_bytes,
                "minMonthBytes": min_month_bytes,
                "sort": sort,
                "include": include,
                "cursor": cursor,
                "limit": limit,
            },
        ))

    def create_device(self, body: types.CreateDeviceRequest, *, idempotency_key: str | None = None) -> types.Device:
        """Create a device

        Requires the scope `device:create`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.Device = self._json(Call(
            "POST",
            "/devices",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    @overload
    def get_device(self, id: str, *, if_none_match: None = None) -> types.Device: ...
    @overload
    def get_device(self, id: str, *, if_none_match: str) -> types.Device | None: ...
    def get_device(self, id: str, *, if_none_match: str | None = None) -> Any:
        """Get a device

        Requires the scope `device:read`.

        Args:
            if_none_match: The ETag you have; 304 when it is still current.
        """
        return self._optional(Call("GET", f"/devices/{segment(id)}", headers={"If-None-Match": if_none_match}))

    def update_device(
        self,
        id: str,
        body: types.UpdateDeviceRequest | None = None,
        *,
        if_match: str | None = None,
    ) -> types.Device:
        """Update a device

        While the status is `disabled`, the service rejects the device’s telemetry and jobs. You can send the
        current serial; a different serial returns `serial_immutable`.

        Requires the scope `device:update`.

        Args:
            if_match: The ETag you read; 412 when it has changed since.
        """
        answer: types.Device = self._json(Call(
            "PATCH",
            f"/devices/{segment(id)}",
            headers={"If-Match": if_match},
            json=body,
        ))
        return answer

    def delete_device(self, id: str, *, if_match: str | None = None) -> None:
        """Delete a device and its telemetry history

        Requires the scope `device:delete`.

        Args:
            if_match: The ETag you read; 412 when it has changed since.
        """
        self._none(Call("DELETE", f"/devices/{segment(id)}", headers={"If-Match": if_match}))

    def transfer_device(
        self,
        id: str,
        body: types.TransferDeviceRequest,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> types.Device:
        """Transfer a device to another organization

        Requires `device:transfer` in both organizations. The transfer removes the device’s group memberships,
        profile, tokens, notes and last location and cancels its open jobs. The previous owner keeps the telemetry
        history.

        Requires the scope `device:transfer`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
            if_match: The ETag you read; 412 when it has changed since.
        """
        answer: types.Device = self._json(Call(
            "POST",
            f"/devices/{segment(id)}/transfer",
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
            json=body,
        ))
        return answer

    def create_device_token(
        self,
        id: str,
        body: types.CreateDeviceTokenRequest | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> types.NewDeviceToken:
        """Issue a device token

        The token is returned only once. Earlier tokens remain valid for 24 hours. Set `revoke` to invalidate them
        immediately.

        Requires the scope `device:update`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.NewDeviceToken = self._json(Call(
            "POST",
            f"/devices/{segment(id)}/token",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    def get_device_identifiers(self, id: str) -> types.DeviceIdentifiers:
        """Get the identifiers of a device

        A gateway finds a device that cannot send its serial by these identifiers.

        Requires the scope `device:read`.
        """
        answer: types.DeviceIdentifiers = self._json(Call("GET", f"/devices/{segment(id)}/identifiers"))
        return answer

    def replace_device_identifiers(
        self,
        id: str,
        body: types.ReplaceDeviceIdentifiersRequest | None = None,
    ) -> types.DeviceIdentifiers:
        """Replace the identifiers of a device

        An identifier belongs to one device of the organization. A transfer removes the identifiers.

        Requires the scope `device:update`.
        """
        answer: types.DeviceIdentifiers = self._json(Call("PUT", f"/devices/{segment(id)}/identifiers", json=body))
        return answer

    def list_device_events(
        self,
        id: str,
        *,
        kind: types.DeviceEventKind | Sequence[types.DeviceEventKind] | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.DeviceEvent, types.DeviceEventPage]:
        """List what happened to a device

        One stream of status changes (`status`), requests of callers (`change`, needs `audit:read`), jobs (`job`,
        `job:read`), alerts (`alert`, `alert:read`), and what telemetry shows (`telemetry:read`): reboots, handovers
        (changes of cell, operator, technology and service of a modem, whose name is `detail.modem` if the router
        names its modems), faults, and one `report` event per UTC hour with the number of samples. `omitted` lists
        the kinds that you cannot read. A page can have fewer events than `limit`; the stream ends when `nextCursor`
        is null.

        Requires the scope `device:read`.

        Args:
            kind: Can be repeated. By default, all kinds.
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            f"/devices/{segment(id)}/events",
            query={"kind": kind, "cursor": cursor, "limit": limit},
        ))

    def list_device_tokens(
        self,
        id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.DeviceToken, types.DeviceTokenPage]:
        """List a device’s valid tokens

        Tokens are listed without their secrets, newest first.

        Requires the scope `device:read`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call("GET", f"/devices/{segment(id)}/tokens", query={"cursor": cursor, "limit": limit}))

    def delete_device_token(self, id: str, token_id: str) -> None:
        """Revoke a device token

        The device edge rejects the token at once.

        Requires the scope `device:update`.
        """
        self._none(Call("DELETE", f"/devices/{segment(id)}/tokens/{segment(token_id)}"))

    def get_device_counts(
        self,
        org_id: str,
        *,
        status: types.DeviceStatus | None = None,
        q: str | None = None,
        tag: str | Sequence[str] | None = None,
        config_state: Literal["inSync", "pending", "differs", "unknown"] | None = None,
        place_id: str | None = None,
        group_id: str | None = None,
        firmware: str | None = None,
        rat: types.RadioAccessTechnology | None = None,
        plmn: str | None = None,
        modems: Literal["several", "withoutService"] | None = None,
        near: str | None = None,
        bbox: str | None = None,
        signal: str | Sequence[str] | None = None,
        seen_within_minutes: int | None = None,
        silent_for_minutes: int | None = None,
        min_today_bytes: int | None = None,
        min_month_bytes: int | None = None,
    ) -> types.DeviceCounts:
        """Count devices

        Counts the devices that match the filters, in total and by status, model, firmware and tag.

        Requires the scope `device:read`.

        Args:
            q: Case-insensitive substring of name, serial, model or organization name.
            tag: Can be repeated. Returns devices that have all of these tags.
            config_state: Whether devices run the profile that was last applied to them.
            place_id: Returns devices whose last position is inside this place. Needs `fleet:read`.
            group_id: Returns the effective members of this group. Needs `group:read`.
            firmware: Returns devices with exactly this firmware version.
            rat: Returns devices whose active modem last used this radio technology. Needs `fleet:read`.
            plmn: Returns devices whose active modem last used this operator. Needs `fleet:read`.
            modems: `several`: devices of which more than one modem reported in the last 24 hours. `withoutService`:
                devices of which a modem has no service. Needs `fleet:read`.
            near: A part of the name of a town, regardless of case and accents. Returns devices to which such a town
                is the nearest. Needs `fleet:read`.
            bbox: Returns devices whose last position is in this box: west, south, east and north in degrees. west >
                east is a box across the antimeridian. Needs `fleet:read`.
            signal: Can be repeated. Returns devices whose active modem has a signal of one of these classes; `none`
                is no service, `unknown` no signal in the last 24 hours. Needs `fleet:read`.
            seen_within_minutes: Returns devices that reported within the last minutes.
            silent_for_minutes: Returns devices whose last report is older than so many minutes.
            min_today_bytes: Returns devices that have used at least so many bytes on this UTC day, in both
                directions together. Needs `telemetry:read`.
            min_month_bytes: The same since the start of this UTC month.
        """
        answer: types.DeviceCounts = self._json(Call(
            "GET",
            f"/orgs/{segment(org_id)}/device-counts",
            query={
                "status": status,
                "q": q,
                "tag": tag,
                "configState": config_state,
                "placeId": place_id,
                "groupId": group_id,
                "firmware": firmware,
                "rat": rat,
                "plmn": plmn,
                "modems": modems,
                "near": near,
                "bbox": bbox,
                "signal": signal,
                "seenWithinMinutes": seen_within_minutes,
                "silentForMinutes": silent_for_minutes,
                "minTodayBytes": min_today_bytes,
                "minMonthBytes": min_month_bytes,
            },
        ))
        return answer

    def update_device_tags(
        self,
        org_id: str,
        body: types.UpdateDeviceTagsRequest,
        *,
        dry_run: bool | None = None,
    ) -> types.ChangedTags:
        """Add and remove tags of many devices

        Changes the devices in `deviceIds` (at most 10,000) or all that match `filter`. Devices that would have more
        than 50 tags are not changed and are counted in `refused`. You can repeat the request.

        Requires the scope `device:update`.

        Args:
            dry_run: Checks everything, changes nothing, and returns 200 with what would happen.
        """
        answer: types.ChangedTags = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/device-tags",
            query={"dryRun": dry_run},
            json=body,
        ))
        return answer

    def update_device_status(
        self,
        org_id: str,
        body: types.UpdateDeviceStatusRequest,
        *,
        dry_run: bool | None = None,
    ) -> types.BulkChange:
        """Disable or enable many devices

        The devices are those in `deviceIds` or all that match `filter`, at most 1000; more return 400
        `too_many_devices`. Each device changes by itself, and `skipped` has those that did not, with the reason.
        You can repeat the request.

        Requires the scope `device:update`.

        Args:
            dry_run: Checks everything, changes nothing, and returns 200 with what would happen.
        """
        answer: types.BulkChange = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/device-status",
            query={"dryRun": dry_run},
            json=body,
        ))
        return answer

    def transfer_devices(
        self,
        org_id: str,
        body: types.TransferDevicesRequest,
        *,
        dry_run: bool | None = None,
    ) -> types.BulkChange:
        """Transfer many devices to another organization

        Requires `device:transfer` in both organizations. The devices are those in `deviceIds` or all that match
        `filter`, at most 1000; more return 400 `too_many_devices`. Each device changes by itself, and `skipped` has
        those that did not, with the reason. `POST /devices/{id}/transfer` says what a device loses. After a
        repetition, the devices of `deviceIds` are no longer in the organization (404).

        Requires the scope `device:transfer`.

        Args:
            dry_run: Checks everything, changes nothing, and returns 200 with what would happen.
        """
        answer: types.BulkChange = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/device-transfers",
            query={"dryRun": dry_run},
            json=body,
        ))
        return answer

    def delete_devices(
        self,
        org_id: str,
        body: types.DeleteDevicesRequest,
        *,
        dry_run: bool | None = None,
    ) -> types.BulkChange:
        """Delete many devices and their telemetry history

        The devices are those in `deviceIds` or all that match `filter`, at most 1000; more return 400
        `too_many_devices`. Each device changes by itself, and `skipped` has those that did not, with the reason.

        Requires the scope `device:delete`.

        Args:
            dry_run: Checks everything, changes nothing, and returns 200 with what would happen.
        """
        answer: types.BulkChange = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/device-deletions",
            query={"dryRun": dry_run},
            json=body,
        ))
        return answer

    def list_groups(
        self,
        org_id: str,
        *,
        device_id: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.Group, types.GroupPage]:
        """List groups

        Requires the scope `group:read`.

        Args:
            device_id: Returns groups of which this device is an effective member.
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            f"/orgs/{segment(org_id)}/groups",
            query={"deviceId": device_id, "cursor": cursor, "limit": limit},
        ))

    def create_group(
        self,
        org_id: str,
        body: types.CreateGroupRequest,
        *,
        idempotency_key: str | None = None,
    ) -> types.Group:
        """Create a group

        Requires the scope `group:write`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.Group = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/groups",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    @overload
    def get_group(self, org_id: str, id: str, *, if_none_match: None = None) -> types.Group: ...
    @overload
    def get_group(self, org_id: str, id: str, *, if_none_match: str) -> types.Group | None: ...
    def get_group(self, org_id: str, id: str, *, if_none_match: str | None = None) -> Any:
        """Get a group

        Requires the scope `group:read`.

        Args:
            if_none_match: The ETag you have; 304 when it is still current.
        """
        return self._optional(Call(
            "GET",
            f"/orgs/{segment(org_id)}/groups/{segment(id)}",
            headers={"If-None-Match": if_none_match},
        ))

    def update_group(
        self,
        org_id: str,
        id: str,
        body: types.UpdateGroupRequest,
        *,
        if_match: str | None = None,
    ) -> types.Group:
        """Update a group

        Requires the scope `group:write`.

        Args:
            if_match: The ETag you read; 412 when it has changed since.
        """
        answer: types.Group = self._json(Call(
            "PATCH",
            f"/orgs/{segment(org_id)}/groups/{segment(id)}",
            headers={"If-Match": if_match},
            json=body,
        ))
        return answer

    def delete_group(self, org_id: str, id: str, *, if_match: str | None = None) -> None:
        """Delete a group

        The devices of the group are not deleted.

        Requires the scope `group:write`.

        Args:
            if_match: The ETag you read; 412 when it has changed since.
        """
        self._none(Call("DELETE", f"/orgs/{segment(org_id)}/groups/{segment(id)}", headers={"If-Match": if_match}))

    def list_group_devices(
        self,
        org_id: str,
        id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.GroupMember, types.GroupMemberPage]:
        """List a group’s effective members

        Returns explicit members and devices with any of the smart tags. `membership` tells the two apart.

        Requires the scope `group:read`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            f"/orgs/{segment(org_id)}/groups/{segment(id)}/devices",
            query={"cursor": cursor, "limit": limit},
        ))

    def add_group_members(
        self,
        org_id: str,
        id: str,
        body: types.AddGroupMembersRequest,
        *,
        idempotency_key: str | None = None,
    ) -> types.AddedMembers:
        """Add explicit members to a group

        If a device does not exist, no device is added; the 404 response lists the missing ids in `deviceIds`.

        Requires the scope `group:write`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.AddedMembers = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/groups/{segment(id)}/members",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    def delete_group_member(self, org_id: str, id: str, device_id: str) -> None:
        """Remove an explicit member from a group

        Requires the scope `group:write`.
        """
        self._none(Call("DELETE", f"/orgs/{segment(org_id)}/groups/{segment(id)}/members/{segment(device_id)}"))

    def list_places(
        self,
        org_id: str,
        *,
        tag: str | Sequence[str] | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.Place, types.PlacePage]:
        """List places

        Requires the scope `fleet:read`.

        Args:
            tag: Can be repeated. Returns places that have all of these tags.
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            f"/orgs/{segment(org_id)}/places",
            query={"tag": tag, "cursor": cursor, "limit": limit},
        ))

    def create_place(
        self,
        org_id: str,
        body: types.CreatePlaceRequest,
        *,
        idempotency_key: str | None = None,
    ) -> types.Place:
        """Create a place

        A place is a named area, such as a depot or a port.

        Requires the scope `place:write`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.Place = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/places",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    @overload
    def get_place(self, org_id: str, id: str, *, if_none_match: None = None) -> types.Place: ...
    @overload
    def get_place(self, org_id: str, id: str, *, if_none_match: str) -> types.Place | None: ...
    def get_place(self, org_id: str, id: str, *, if_none_match: str | None = None) -> Any:
        """Get a place

        Requires the scope `fleet:read`.

        Args:
            if_none_match: The ETag you have; 304 when it is still current.
        """
        return self._optional(Call(
            "GET",
            f"/orgs/{segment(org_id)}/places/{segment(id)}",
            headers={"If-None-Match": if_none_match},
        ))

    def update_place(
        self,
        org_id: str,
        id: str,
        body: types.UpdatePlaceRequest,
        *,
        if_match: str | None = None,
    ) -> types.Place:
        """Update a place

        Requires the scope `place:write`.

        Args:
            if_match: The ETag you read; 412 when it has changed since.
        """
        answer: types.Place = self._json(Call(
            "PATCH",
            f"/orgs/{segment(org_id)}/places/{segment(id)}",
            headers={"If-Match": if_match},
            json=body,
        ))
        return answer

    def delete_place(self, org_id: str, id: str, *, if_match: str | None = None) -> None:
        """Delete a place

        Requires the scope `place:write`.

        Args:
            if_match: The ETag you read; 412 when it has changed since.
        """
        self._none(Call("DELETE", f"/orgs/{segment(org_id)}/places/{segment(id)}", headers={"If-Match": if_match}))

    def list_config_profiles(
        self,
        org_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.ConfigProfile, types.ConfigProfilePage]:
        """List config profiles

        Requires the scope `config:read`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call("GET", f"/orgs/{segment(org_id)}/configs", query={"cursor": cursor, "limit": limit}))

    def create_config_profile(
        self,
        org_id: str,
        body: types.CreateConfigProfileRequest,
        *,
        idempotency_key: str | None = None,
    ) -> types.ConfigProfile:
        """Create a config profile

        Requires the scope `config:write`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.ConfigProfile = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/configs",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    @overload
    def get_config_profile(self, org_id: str, id: str, *, if_none_match: None = None) -> types.ConfigProfile: ...
    @overload
    def get_config_profile(self, org_id: str, id: str, *, if_none_match: str) -> types.ConfigProfile | None: ...
    def get_config_profile(self, org_id: str, id: str, *, if_none_match: str | None = None) -> Any:
        """Get a config profile

        Requires the scope `config:read`.

        Args:
            if_none_match: The ETag you have; 304 when it is still current.
        """
        return self._optional(Call(
            "GET",
            f"/orgs/{segment(org_id)}/configs/{segment(id)}",
            headers={"If-None-Match": if_none_match},
        ))

    def update_config_profile(
        self,
        org_id: str,
        id: str,
        body: types.UpdateConfigProfileRequest,
        *,
        if_match: str | None = None,
    ) -> types.ConfigProfile:
        """Update a config profile

        `settings` is a JSON Merge Patch. Send a redacted secret unchanged to keep its value, null to clear it, or a
        new value to replace it. Each change creates a new version.

        Requires the scope `config:write`.

        Args:
            if_match: The ETag you read; 412 when it has changed since.
        """
        answer: types.ConfigProfile = self._json(Call(
            "PATCH",
            f"/orgs/{segment(org_id)}/configs/{segment(id)}",
            headers={"If-Match": if_match},
            json=body,
        ))
        return answer

    def delete_config_profile(self, org_id: str, id: str, *, if_match: str | None = None) -> None:
        """Delete a config profile and its versions

        A version stays for the routers of a batch whose jobs can be retried: until 30 days after the end of the
        batch. Then the service deletes it with its secrets.

        Requires the scope `config:write`.

        Args:
            if_match: The ETag you read; 412 when it has changed since.
        """
        self._none(Call("DELETE", f"/orgs/{segment(org_id)}/configs/{segment(id)}", headers={"If-Match": if_match}))

    def list_config_profile_versions(
        self,
        org_id: str,
        id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.ConfigProfileVersion, types.ConfigProfileVersionPage]:
        """List a profile’s versions

        Requires the scope `config:read`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            f"/orgs/{segment(org_id)}/configs/{segment(id)}/versions",
            query={"cursor": cursor, "limit": limit},
        ))

    def roll_back_config_profile(
        self,
        org_id: str,
        id: str,
        body: types.RollBackConfigProfileRequest,
        *,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> types.ConfigProfile:
        """Roll a config profile back to an earlier version

        Creates a new version with the content of an earlier one, including its secrets. Devices are not changed;
        apply the profile to change them.

        Requires the scope `config:write`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
            if_match: The ETag you read; 412 when it has changed since.
        """
        answer: types.ConfigProfile = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/configs/{segment(id)}/roll-back",
            headers={"Idempotency-Key": idempotency_key, "If-Match": if_match},
            json=body,
        ))
        return answer

    def list_config_profile_devices(
        self,
        org_id: str,
        id: str,
        *,
        behind: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.ConfigProfileDevice, types.ConfigProfileDevicePage]:
        """List the devices that run a config profile

        Requires `config:read` and `device:read`.

        Requires the scope `config:read`.

        Args:
            behind: `true` returns only devices with an earlier version than the present one.
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            f"/orgs/{segment(org_id)}/configs/{segment(id)}/devices",
            query={"behind": behind, "cursor": cursor, "limit": limit},
        ))

    @overload
    def get_variables(self, org_id: str, *, if_none_match: None = None) -> types.VariableSet: ...
    @overload
    def get_variables(self, org_id: str, *, if_none_match: str) -> types.VariableSet | None: ...
    def get_variables(self, org_id: str, *, if_none_match: str | None = None) -> Any:
        """Get the variables of an organization

        Requires the scope `config:read`.

        Args:
            if_none_match: The ETag you have; 304 when it is still current.
        """
        return self._optional(Call(
            "GET",
            f"/orgs/{segment(org_id)}/variables",
            headers={"If-None-Match": if_none_match},
        ))

    def replace_variables(
        self,
        org_id: str,
        body: types.ReplaceVariablesRequest,
        *,
        if_match: str | None = None,
    ) -> types.VariableSet:
        """Replace the variables of an organization

        Replaces all variables. Send a redacted secret unchanged to keep its value. Jobs that were created before
        keep their values.

        Requires the scope `config:write`.

        Args:
            if_match: The ETag you read; 412 when it has changed since.
        """
        answer: types.VariableSet = self._json(Call(
            "PUT",
            f"/orgs/{segment(org_id)}/variables",
            headers={"If-Match": if_match},
            json=body,
        ))
        return answer

    @overload
    def get_group_variables(
        self,
        org_id: str,
        group_id: str,
        *,
        if_none_match: None = None,
    ) -> types.GroupVariableSet: ...
    @overload
    def get_group_variables(
        self,
        org_id: str,
        group_id: str,
        *,
        if_none_match: str,
    ) -> types.GroupVariableSet | None: ...
    def get_group_variables(self, org_id: str, group_id: str, *, if_none_match: str | None = None) -> Any:
        """Get the variables of a group

        Requires the scope `config:read`.

        Args:
            if_none_match: The ETag you have; 304 when it is still current.
        """
        return self._optional(Call(
            "GET",
            f"/orgs/{segment(org_id)}/groups/{segment(group_id)}/variables",
            headers={"If-None-Match": if_none_match},
        ))

    def replace_group_variables(
        self,
        org_id: str,
        group_id: str,
        body: types.ReplaceGroupVariablesRequest,
        *,
        if_match: str | None = None,
    ) -> types.GroupVariableSet:
        """Replace the variables of a group

        Replaces all variables. Send a redacted secret unchanged to keep its value. Jobs that were created before
        keep their values.

        Requires the scope `config:write`.

        Args:
            if_match: The ETag you read; 412 when it has changed since.
        """
        answer: types.GroupVariableSet = self._json(Call(
            "PUT",
            f"/orgs/{segment(org_id)}/groups/{segment(group_id)}/variables",
            headers={"If-Match": if_match},
            json=body,
        ))
        return answer

    @overload
    def get_device_variables(self, id: str, *, if_none_match: None = None) -> types.VariableSet: ...
    @overload
    def get_device_variables(self, id: str, *, if_none_match: str) -> types.VariableSet | None: ...
    def get_device_variables(self, id: str, *, if_none_match: str | None = None) -> Any:
        """Get the variables of a device

        Requires the scope `config:read`.

        Args:
            if_none_match: The ETag you have; 304 when it is still current.
        """
        return self._optional(Call(
            "GET",
            f"/devices/{segment(id)}/variables",
            headers={"If-None-Match": if_none_match},
        ))

    def replace_device_variables(
        self,
        id: str,
        body: types.ReplaceDeviceVariablesRequest,
        *,
        if_match: str | None = None,
    ) -> types.VariableSet:
        """Replace the variables of a device

        Replaces all variables. Send a redacted secret unchanged to keep its value. Jobs that were created before
        keep their values.

        Requires the scope `config:write`.

        Args:
            if_match: The ETag you read; 412 when it has changed since.
        """
        answer: types.VariableSet = self._json(Call(
            "PUT",
            f"/devices/{segment(id)}/variables",
            headers={"If-Match": if_match},
            json=body,
        ))
        return answer

    def get_device_config(self, id: str, *, profile_id: str | None = None) -> types.DeviceConfig:
        """Get the config of a device

        The present version of a profile with the values of its variables for this device, and where each value is
        from. Without `profileId`, the profile that was last applied.

        Requires the scope `config:read`.
        """
        answer: types.DeviceConfig = self._json(Call(
            "GET",
            f"/devices/{segment(id)}/config",
            query={"profileId": profile_id},
        ))
        return answer

    @overload
    def apply_config_profile(
        self,
        org_id: str,
        profile_id: str,
        body: types.ApplyConfigProfileRequest,
        *,
        dry_run: Literal[True],
        cursor: str | None = None,
        limit: int | None = None,
        idempotency_key: str | None = None,
    ) -> types.ConfigApplicationPlan: ...
    @overload
    def apply_config_profile(
        self,
        org_id: str,
        profile_id: str,
        body: types.ApplyConfigProfileRequest,
        *,
        dry_run: Literal[False] | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        idempotency_key: str | None = None,
    ) -> types.JobBatch: ...
    def apply_config_profile(
        self,
        org_id: str,
        profile_id: str,
        body: types.ApplyConfigProfileRequest,
        *,
        dry_run: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """Apply a config profile to devices or to a group

        Creates one `apply_config` job for each device with the current version of the profile. Disabled devices,
        devices of another model and devices without a value for a variable are listed in `skipped`.

        Requires the scope `config:apply`.

        Args:
            dry_run: Checks everything, changes nothing, and returns 200 with what would happen.
            cursor: With `dryRun`: the `nextCursor` of the previous page of `devices`.
            limit: With `dryRun`: the number of `devices` whose changes are returned.
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        return self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/configs/{segment(profile_id)}/apply",
            query={"dryRun": dry_run, "cursor": cursor, "limit": limit},
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))

    def list_firmware_images(
        self,
        org_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.FirmwareImage, types.FirmwareImagePage]:
        """List firmware images

        Requires the scope `job:read`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call("GET", f"/orgs/{segment(org_id)}/firmware", query={"cursor": cursor, "limit": limit}))

    def create_firmware_image(
        self,
        org_id: str,
        body: types.CreateFirmwareImageRequest,
        *,
        idempotency_key: str | None = None,
    ) -> types.FirmwareImage:
        """Add a firmware image

        Routers download the image from `url` and verify its SHA-256. A job that uses the image skips devices of
        other models.

        Requires the scope `job:create`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.FirmwareImage = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/firmware",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    def get_firmware_image(self, org_id: str, id: str) -> types.FirmwareImage:
        """Get a firmware image

        Requires the scope `job:read`.
        """
        answer: types.FirmwareImage = self._json(Call("GET", f"/orgs/{segment(org_id)}/firmware/{segment(id)}"))
        return answer

    def delete_firmware_image(self, org_id: str, id: str) -> None:
        """Delete a firmware image

        Jobs that use the image continue.

        Requires the scope `job:create`.
        """
        self._none(Call("DELETE", f"/orgs/{segment(org_id)}/firmware/{segment(id)}"))

    @overload
    def create_job_batch(
        self,
        org_id: str,
        body: types.CreateJobBatchRequest,
        *,
        dry_run: Literal[True],
        idempotency_key: str | None = None,
    ) -> types.JobBatchPlan: ...
    @overload
    def create_job_batch(
        self,
        org_id: str,
        body: types.CreateJobBatchRequest,
        *,
        dry_run: Literal[False] | None = None,
        idempotency_key: str | None = None,
    ) -> types.JobBatch: ...
    def create_job_batch(
        self,
        org_id: str,
        body: types.CreateJobBatchRequest,
        *,
        dry_run: bool | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """Create a job for each of many devices

        Creates one job for each device in `deviceIds` (at most 10,000), for each effective member of a group, or
        for all devices that match `filter` now. Disabled devices, and devices of models that a firmware image does
        not support, are listed in `skipped`.

        Requires the scope `job:create`.

        Args:
            dry_run: Checks everything, changes nothing, and returns 200 with what would happen.
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        return self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/job-batches",
            query={"dryRun": dry_run},
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))

    def list_job_batches(
        self,
        org_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.JobBatchSummary, types.JobBatchSummaryPage]:
        """List job batches

        Requires the scope `job:read`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call("GET", f"/orgs/{segment(org_id)}/job-batches", query={"cursor": cursor, "limit": limit}))

    @overload
    def create_group_jobs(
        self,
        org_id: str,
        id: str,
        body: types.CreateGroupJobsRequest,
        *,
        dry_run: Literal[True],
        idempotency_key: str | None = None,
    ) -> types.JobBatchPlan: ...
    @overload
    def create_group_jobs(
        self,
        org_id: str,
        id: str,
        body: types.CreateGroupJobsRequest,
        *,
        dry_run: Literal[False] | None = None,
        idempotency_key: str | None = None,
    ) -> types.JobBatch: ...
    def create_group_jobs(
        self,
        org_id: str,
        id: str,
        body: types.CreateGroupJobsRequest,
        *,
        dry_run: bool | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """Create a job for each device in a group

        Creates one job for each effective member. Disabled devices are listed in `skipped`. An offline router
        receives its job when it reconnects, unless the job expires first.

        Requires the scope `job:create`.

        Args:
            dry_run: Checks everything, changes nothing, and returns 200 with what would happen.
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        return self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/groups/{segment(id)}/jobs",
            query={"dryRun": dry_run},
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))

    def create_device_job(
        self,
        id: str,
        body: types.CreateDeviceJobRequest,
        *,
        idempotency_key: str | None = None,
    ) -> types.Job:
        """Create a job for a device

        Requires the scope `job:create`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.Job = self._json(Call(
            "POST",
            f"/devices/{segment(id)}/jobs",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    def list_device_jobs(
        self,
        id: str,
        *,
        status: types.JobStatus | None = None,
        kind: types.JobKind | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.Job, types.JobPage]:
        """List a device’s jobs

        Requires `device:read` and `job:read`.

        Requires the scope `job:read`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            f"/devices/{segment(id)}/jobs",
            query={"status": status, "kind": kind, "cursor": cursor, "limit": limit},
        ))

    def list_jobs(
        self,
        org_id: str,
        *,
        status: types.JobStatus | None = None,
        kind: types.JobKind | None = None,
        device_id: str | None = None,
        group_id: str | None = None,
        batch_id: str | None = None,
        in_batch: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.Job, types.JobPage]:
        """List jobs

        Requires the scope `job:read`.

        Args:
            group_id: Returns jobs that were created for this group.
            in_batch: `false` returns only jobs that were created for a single device.
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            f"/orgs/{segment(org_id)}/jobs",
            query={
                "status": status,
                "kind": kind,
                "deviceId": device_id,
                "groupId": group_id,
                "batchId": batch_id,
                "inBatch": in_batch,
                "cursor": cursor,
                "limit": limit,
            },
        ))

    def get_job(self, org_id: str, id: str) -> types.JobWithHistory:
        """Get a job with its history

        Requires the scope `job:read`.
        """
        answer: types.JobWithHistory = self._json(Call("GET", f"/orgs/{segment(org_id)}/jobs/{segment(id)}"))
        return answer

    def cancel_job(self, org_id: str, id: str) -> types.Job:
        """Cancel a job

        A job that the device has started is not cancelled immediately. The device receives `cancelRequested` and
        reports the outcome.

        Requires the scope `job:cancel`.
        """
        answer: types.Job = self._json(Call("POST", f"/orgs/{segment(org_id)}/jobs/{segment(id)}/cancel"))
        return answer

    def retry_job(self, org_id: str, id: str, *, idempotency_key: str | None = None) -> types.Job:
        """Retry a job

        Starts the next attempt of a job that did not succeed, with a new expiry.

        Requires the scope `job:create`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.Job = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/jobs/{segment(id)}/retry",
            headers={"Idempotency-Key": idempotency_key},
        ))
        return answer

    def get_job_batch(self, org_id: str, id: str) -> types.JobBatch:
        """Get a job batch

        Requires the scope `job:read`.
        """
        answer: types.JobBatch = self._json(Call("GET", f"/orgs/{segment(org_id)}/job-batches/{segment(id)}"))
        return answer

    def cancel_job_batch(self, org_id: str, id: str) -> types.JobBatch:
        """Cancel a batch

        Requires the scope `job:cancel`.
        """
        answer: types.JobBatch = self._json(Call("POST", f"/orgs/{segment(org_id)}/job-batches/{segment(id)}/cancel"))
        return answer

    def pause_job_batch(self, org_id: str, id: str) -> types.JobBatch:
        """Pause a batch

        Requires the scope `job:cancel`.
        """
        answer: types.JobBatch = self._json(Call("POST", f"/orgs/{segment(org_id)}/job-batches/{segment(id)}/pause"))
        return answer

    def resume_job_batch(self, org_id: str, id: str) -> types.JobBatch:
        """Resume a batch

        Requires the scope `job:create`.
        """
        answer: types.JobBatch = self._json(Call("POST", f"/orgs/{segment(org_id)}/job-batches/{segment(id)}/resume"))
        return answer

    def retry_job_batch(self, org_id: str, id: str, *, idempotency_key: str | None = None) -> types.JobBatch:
        """Retry failed jobs in a batch

        Requires the scope `job:create`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.JobBatch = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/job-batches/{segment(id)}/retry",
            headers={"Idempotency-Key": idempotency_key},
        ))
        return answer

    def list_alert_rules(
        self,
        org_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.AlertRule, types.AlertRulePage]:
        """List alert rules

        Requires the scope `alert:read`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call("GET", f"/orgs/{segment(org_id)}/alert-rules", query={"cursor": cursor, "limit": limit}))

    def create_alert_rule(
        self,
        org_id: str,
        body: types.CreateAlertRuleRequest,
        *,
        idempotency_key: str | None = None,
    ) -> types.AlertRule:
        """Create an alert rule

        The service evaluates rules every 10 seconds. When the condition has held for `forMinutes` on a device, an
        alert opens. The alert closes when the condition ends.

        Requires the scope `alert:write`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.AlertRule = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/alert-rules",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    @overload
    def get_alert_rule(self, org_id: str, id: str, *, if_none_match: None = None) -> types.AlertRule: ...
    @overload
    def get_alert_rule(self, org_id: str, id: str, *, if_none_match: str) -> types.AlertRule | None: ...
    def get_alert_rule(self, org_id: str, id: str, *, if_none_match: str | None = None) -> Any:
        """Get an alert rule

        Requires the scope `alert:read`.

        Args:
            if_none_match: The ETag you have; 304 when it is still current.
        """
        return self._optional(Call(
            "GET",
            f"/orgs/{segment(org_id)}/alert-rules/{segment(id)}",
            headers={"If-None-Match": if_none_match},
        ))

    def update_alert_rule(
        self,
        org_id: str,
        id: str,
        body: types.UpdateAlertRuleRequest,
        *,
        if_match: str | None = None,
    ) -> types.AlertRule:
        """Update an alert rule

        Replaces the fields that you send. A change of `condition`, `groupId` or `tags`, or `enabled: false`, closes
        the alerts of the rule.

        Requires the scope `alert:write`.

        Args:
            if_match: The ETag you read; 412 when it has changed since.
        """
        answer: types.AlertRule = self._json(Call(
            "PATCH",
            f"/orgs/{segment(org_id)}/alert-rules/{segment(id)}",
            headers={"If-Match": if_match},
            json=body,
        ))
        return answer

    def delete_alert_rule(self, org_id: str, id: str, *, if_match: str | None = None) -> None:
        """Delete an alert rule

        Closes the alerts of the rule. They stay in the inbox.

        Requires the scope `alert:write`.

        Args:
            if_match: The ETag you read; 412 when it has changed since.
        """
        self._none(Call("DELETE", f"/orgs/{segment(org_id)}/alert-rules/{segment(id)}", headers={"If-Match": if_match}))

    def list_alerts(
        self,
        org_id: str,
        *,
        state: types.ListAlertsState | Sequence[types.ListAlertsState] | None = None,
        rule_id: str | None = None,
        device_id: str | None = None,
        group_id: str | None = None,
        severity: types.AlertSeverity | None = None,
        assignee: str | None = None,
        since: str | datetime | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.Alert, types.AlertPage]:
        """List alerts

        Requires the scope `alert:read`.

        Args:
            state: Can be repeated. Returns alerts in any of these states.
            group_id: Only alerts of the devices that are in this group now.
            since: Returns alerts that opened at this time or later.
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            f"/orgs/{segment(org_id)}/alerts",
            query={
                "state": state,
                "ruleId": rule_id,
                "deviceId": device_id,
                "groupId": group_id,
                "severity": severity,
                "assignee": assignee,
                "since": since,
                "cursor": cursor,
                "limit": limit,
            },
        ))

    def get_alert_counts(
        self,
        org_id: str,
        *,
        rule_id: str | None = None,
        device_id: str | None = None,
        group_id: str | None = None,
    ) -> types.AlertCounts:
        """Count alerts that are not closed

        Requires the scope `alert:read`.

        Args:
            group_id: Only alerts of the devices that are in this group now.
        """
        answer: types.AlertCounts = self._json(Call(
            "GET",
            f"/orgs/{segment(org_id)}/alert-counts",
            query={"ruleId": rule_id, "deviceId": device_id, "groupId": group_id},
        ))
        return answer

    def get_platform_alert_counts(self) -> types.AlertCounts:
        """Count alerts that are not closed in all organizations

        Counts the alerts of the organizations in which the caller holds `alert:read`.

        Requires the scope `alert:read`.
        """
        answer: types.AlertCounts = self._json(Call("GET", "/alert-counts"))
        return answer

    def get_alert(self, org_id: str, id: str) -> types.Alert:
        """Get an alert

        Requires the scope `alert:read`.
        """
        answer: types.Alert = self._json(Call("GET", f"/orgs/{segment(org_id)}/alerts/{segment(id)}"))
        return answer

    def update_alert(self, org_id: str, id: str, body: types.UpdateAlertRequest) -> types.Alert:
        """Change the comment or the assignee of an alert

        Requires the scope `alert:acknowledge`.
        """
        answer: types.Alert = self._json(Call("PATCH", f"/orgs/{segment(org_id)}/alerts/{segment(id)}", json=body))
        return answer

    def acknowledge_alert(self, org_id: str, id: str) -> types.Alert:
        """Acknowledge an alert

        Records that you take care of the alert. An acknowledged alert does not change.

        Requires the scope `alert:acknowledge`.
        """
        answer: types.Alert = self._json(Call("POST", f"/orgs/{segment(org_id)}/alerts/{segment(id)}/acknowledge"))
        return answer

    def close_alert(self, org_id: str, id: str) -> types.Alert:
        """Close an alert

        While the condition continues, the rule opens no other alert for the device.

        Requires the scope `alert:acknowledge`.
        """
        answer: types.Alert = self._json(Call("POST", f"/orgs/{segment(org_id)}/alerts/{segment(id)}/close"))
        return answer

    def acknowledge_alerts(self, org_id: str, body: types.AcknowledgeAlertsRequest) -> types.HandledAlerts:
        """Acknowledge many alerts

        Acknowledges the alerts in `alertIds` (at most 1,000), or the oldest 1,000 open alerts that match `filter`.
        Says what happened to each. You can repeat the request.

        Requires the scope `alert:acknowledge`.
        """
        answer: types.HandledAlerts = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/alert-acknowledgements",
            json=body,
        ))
        return answer

    def close_alerts(self, org_id: str, body: types.CloseAlertsRequest) -> types.HandledAlerts:
        """Close many alerts

        Closes the alerts in `alertIds` (at most 1,000), or the oldest 1,000 that match `filter` and are not closed.
        Says what happened to each. You can repeat the request.

        Requires the scope `alert:acknowledge`.
        """
        answer: types.HandledAlerts = self._json(Call("POST", f"/orgs/{segment(org_id)}/alert-closures", json=body))
        return answer

    def list_alert_addresses(
        self,
        org_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.AlertAddress, types.AlertAddressPage]:
        """List addresses for alerts

        The e-mail addresses that alert rules name, and whether their owner has confirmed them. Addresses of people
        who signed in count as confirmed.

        Requires the scope `alert:read`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            f"/orgs/{segment(org_id)}/alert-addresses",
            query={"cursor": cursor, "limit": limit},
        ))

    def send_alert_address_confirmation(
        self,
        org_id: str,
        body: types.SendAlertAddressConfirmationRequest,
        *,
        idempotency_key: str | None = None,
    ) -> types.AlertAddress:
        """Send the confirmation of an address again

        The service sends the first one when a rule names an address. It can be sent again after an hour, at most
        five times in a week.

        Requires the scope `alert:write`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.AlertAddress = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/alert-address-confirmations",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    def test_alert_address(
        self,
        org_id: str,
        body: types.TestAlertAddressRequest,
        *,
        idempotency_key: str | None = None,
    ) -> types.AlertAddress:
        """Send a test message to an address

        The worker sends it within seconds, once. `lastTest` of the address then has the result.

        Requires the scope `alert:write`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.AlertAddress = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/alert-address-tests",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    def answer_alert_address_link(self, body: types.AnswerAlertAddressLinkRequest) -> types.LinkedAddress:
        """Confirm or refuse alerts by e-mail

        For the web page, which the links in messages open. Without `answer`, only returns what the link is about. A
        link can do nothing else, and needs no other credentials.

        Requires no credentials.
        """
        answer: types.LinkedAddress = self._json(Call("POST", "/alert-address-links", json=body, needs_key=False))
        return answer

    def list_chat_channels(
        self,
        org_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.ChatChannel, types.ChatChannelPage]:
        """List chat channels

        Requires the scope `alert:read`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            f"/orgs/{segment(org_id)}/chat-channels",
            query={"cursor": cursor, "limit": limit},
        ))

    def create_chat_channel(
        self,
        org_id: str,
        body: types.CreateChatChannelRequest,
        *,
        idempotency_key: str | None = None,
    ) -> types.ChatChannel:
        """Create a chat channel

        A chat channel is an incoming webhook of Slack, of a workflow of Microsoft Teams, or of Mattermost. Alert
        rules name the channels that receive their alerts.

        Requires the scope `webhook:manage`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.ChatChannel = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/chat-channels",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    def get_chat_channel(self, org_id: str, id: str) -> types.ChatChannel:
        """Get a chat channel

        Requires the scope `alert:read`.
        """
        answer: types.ChatChannel = self._json(Call("GET", f"/orgs/{segment(org_id)}/chat-channels/{segment(id)}"))
        return answer

    def update_chat_channel(self, org_id: str, id: str, body: types.UpdateChatChannelRequest) -> types.ChatChannel:
        """Rename a chat channel or replace its URL

        Requires the scope `webhook:manage`.
        """
        answer: types.ChatChannel = self._json(Call(
            "PATCH",
            f"/orgs/{segment(org_id)}/chat-channels/{segment(id)}",
            json=body,
        ))
        return answer

    def delete_chat_channel(self, org_id: str, id: str) -> None:
        """Delete a chat channel

        Requires the scope `webhook:manage`.
        """
        self._none(Call("DELETE", f"/orgs/{segment(org_id)}/chat-channels/{segment(id)}"))

    def test_chat_channel(self, org_id: str, id: str, *, idempotency_key: str | None = None) -> types.ChatChannel:
        """Send a test message to a chat channel

        The worker sends it within seconds, once. `lastTest` of the channel then has the result.

        Requires the scope `webhook:manage`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.ChatChannel = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/chat-channels/{segment(id)}/test",
            headers={"Idempotency-Key": idempotency_key},
        ))
        return answer

    def create_webhook(
        self,
        org_id: str,
        body: types.CreateWebhookRequest,
        *,
        idempotency_key: str | None = None,
    ) -> types.NewWebhook:
        """Create a webhook

        Sends events to a URL. Deliveries are signed according to Standard Webhooks with the `secret`, which is
        returned only once. Each event is delivered at least once. Failed deliveries are retried for three days;
        then the webhook is disabled. With its first webhook, an organization gets an alert rule that tells when
        this happens.

        Requires the scope `webhook:manage`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.NewWebhook = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/webhooks",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    def list_webhooks(
        self,
        org_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.Webhook, types.WebhookPage]:
        """List webhooks

        Requires the scope `webhook:manage`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call("GET", f"/orgs/{segment(org_id)}/webhooks", query={"cursor": cursor, "limit": limit}))

    def update_webhook(self, org_id: str, id: str, body: types.UpdateWebhookRequest | None = None) -> types.Webhook:
        """Change a webhook

        With `enabled: true`, a disabled webhook receives new events again. `enabled: false` disables it.

        Requires the scope `webhook:manage`.
        """
        answer: types.Webhook = self._json(Call("PATCH", f"/orgs/{segment(org_id)}/webhooks/{segment(id)}", json=body))
        return answer

    def delete_webhook(self, org_id: str, id: str) -> None:
        """Delete a webhook

        Requires the scope `webhook:manage`.
        """
        self._none(Call("DELETE", f"/orgs/{segment(org_id)}/webhooks/{segment(id)}"))

    def rotate_webhook_secret(
        self,
        org_id: str,
        id: str,
        body: types.RotateWebhookSecretRequest | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> types.NewWebhook:
        """Rotate the signing secret of a webhook

        Creates a new secret. Until the old one expires, `webhook-signature` has a signature with each, the new one
        first, so that your receiver can change over without losing a delivery.

        Requires the scope `webhook:manage`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.NewWebhook = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/webhooks/{segment(id)}/rotate-secret",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    def delete_webhook_old_secret(self, org_id: str, id: str) -> None:
        """End the old signing secret of a webhook

        From now on, deliveries have only the signature with the new secret.

        Requires the scope `webhook:manage`.
        """
        self._none(Call("DELETE", f"/orgs/{segment(org_id)}/webhooks/{segment(id)}/old-secret"))

    def list_webhook_deliveries(
        self,
        org_id: str,
        id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.WebhookDelivery, types.WebhookDeliveryPage]:
        """List deliveries of a webhook

        Deliveries are listed for seven days. When the service disables a webhook, its pending deliveries become
        `failed` and can be sent again. When a person disables it, they are deleted.

        Requires the scope `webhook:manage`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            f"/orgs/{segment(org_id)}/webhooks/{segment(id)}/deliveries",
            query={"cursor": cursor, "limit": limit},
        ))

    def test_webhook(self, org_id: str, id: str, *, idempotency_key: str | None = None) -> types.WebhookDelivery:
        """Send a test event to a webhook

        Sends an event of the type `webhook.test`, to which webhooks need no subscription.

        Requires the scope `webhook:manage`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.WebhookDelivery = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/webhooks/{segment(id)}/test",
            headers={"Idempotency-Key": idempotency_key},
        ))
        return answer

    def redeliver_webhook_delivery(
        self,
        org_id: str,
        id: str,
        delivery_id: str,
        *,
        idempotency_key: str | None = None,
    ) -> types.WebhookDelivery:
        """Send a delivery again

        The event has the same `webhook-id` as before, so that a receiver can ignore a duplicate.

        Requires the scope `webhook:manage`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.WebhookDelivery = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/webhooks/{segment(id)}/deliveries/{segment(delivery_id)}/redeliver",
            headers={"Idempotency-Key": idempotency_key},
        ))
        return answer

    def get_latest_telemetry(self, model_segment: str, device_id: str) -> types.LatestTelemetry:
        """Get the latest telemetry of a device

        Returns the newest sample of each kind by sample time. IMSI, ICCID and WAN address are masked unless you
        hold `device:sensitive`.

        Requires the scope `telemetry:read`.
        """
        answer: types.LatestTelemetry = self._json(Call(
            "GET",
            f"/api/{segment(model_segment)}/{segment(device_id)}/telemetry/latest",
        ))
        return answer

    def download_telemetry_history(
        self,
        model_segment: str,
        device_id: str,
        *,
        since_minutes: int | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
        kind: Literal["cellular", "connection", "location", "system"] | None = None,
        modem: str | None = None,
        limit: int | None = None,
        step_seconds: int | None = None,
        cursor: str | None = None,
        format: Literal["csv", "ndjson", "parquet"],
    ) -> Download:
        """Get the telemetry history of a device

        Items are sorted by time, newest first, then by kind. If the plan limits the window, `window.limitedBy` is
        `plan`. CSV, NDJSON and Parquet are streamed; the connection closes before the end if the key or the session
        is revoked or the device is deleted during the download. Parquet has the columns of CSV and, if they have
        positions, GeoParquet’s column `geometry`.

        Requires the scope `telemetry:read`.

        Args:
            since_minutes: Length of the window in minutes; 60 by default.
            from_: Start of the window, inclusive. Replaces `sinceMinutes`.
            to: End of the window, exclusive. By default 5 minutes in the future, because device clocks can be fast.
            modem: Only samples of this modem, of the kinds `cellular` and `connection`.
            limit: Maximum number of items. By default 1000 for JSON and unlimited for files.
            step_seconds: Returns minimum, mean and maximum for each step of this length. Positions, headings and
                channel numbers are left out.
            format: The format of the response. By default the one that `Accept` prefers, and JSON without that
                header.
        """
        return self._download(Call(
            "GET",
            f"/api/{segment(model_segment)}/{segment(device_id)}/telemetry/history",
            query={
                "sinceMinutes": since_minutes,
                "from": from_,
                "to": to,
                "kind": kind,
                "modem": modem,
                "limit": limit,
                "stepSeconds": step_seconds,
                "cursor": cursor,
                "format": format,
            },
        ))

    def get_telemetry_history(
        self,
        model_segment: str,
        device_id: str,
        *,
        since_minutes: int | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
        kind: Literal["cellular", "connection", "location", "system"] | None = None,
        modem: str | None = None,
        limit: int | None = None,
        step_seconds: int | None = None,
        cursor: str | None = None,
    ) -> Listing[types.TelemetryHistoryItem, types.TelemetryHistory]:
        """Get the telemetry history of a device

        Items are sorted by time, newest first, then by kind. If the plan limits the window, `window.limitedBy` is
        `plan`. CSV, NDJSON and Parquet are streamed; the connection closes before the end if the key or the session
        is revoked or the device is deleted during the download. Parquet has the columns of CSV and, if they have
        positions, GeoParquet’s column `geometry`.

        Requires the scope `telemetry:read`.

        Args:
            since_minutes: Length of the window in minutes; 60 by default.
            from_: Start of the window, inclusive. Replaces `sinceMinutes`.
            to: End of the window, exclusive. By default 5 minutes in the future, because device clocks can be fast.
            modem: Only samples of this modem, of the kinds `cellular` and `connection`.
            limit: Maximum number of items. By default 1000 for JSON and unlimited for files.
            step_seconds: Returns minimum, mean and maximum for each step of this length. Positions, headings and
                channel numbers are left out.
        """
        return self._list(Call(
            "GET",
            f"/api/{segment(model_segment)}/{segment(device_id)}/telemetry/history",
            query={
                "sinceMinutes": since_minutes,
                "from": from_,
                "to": to,
                "kind": kind,
                "modem": modem,
                "limit": limit,
                "stepSeconds": step_seconds,
                "cursor": cursor,
            },
        ))

    def get_data_use(
        self,
        model_segment: str,
        device_id: str,
        *,
        since_minutes: int | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
    ) -> types.DeviceDataUse:
        """Get the data use of a device

        Returns what each modem and interface received and sent in the window, from the counters in `connection`
        samples. A counter that falls has wrapped at 2^32 if that explains it with less than 2^31 bytes; otherwise
        it has started again from 0. The first sample of the window counts from the sample before, if that is at
        most an hour older.

        Requires the scope `telemetry:read`.

        Args:
            since_minutes: Length of the window in minutes; 1440 by default.
            from_: Start of the window, inclusive. Replaces `sinceMinutes`.
            to: End of the window, exclusive. By default 5 minutes in the future, because device clocks can be fast.
        """
        answer: types.DeviceDataUse = self._json(Call(
            "GET",
            f"/api/{segment(model_segment)}/{segment(device_id)}/telemetry/data-use",
            query={"sinceMinutes": since_minutes, "from": from_, "to": to},
        ))
        return answer

    def get_outages(
        self,
        model_segment: str,
        device_id: str,
        *,
        since_minutes: int | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
        modem: str | None = None,
    ) -> types.DeviceOutages:
        """Get the times without service of a device

        Returns when each modem had no service in the window, for how long, and near which town that began, and when
        the device had none with any of its modems. A time counts if at least two samples in a row lie in it, no
        more than five minutes apart.

        Requires the scope `telemetry:read`.

        Args:
            since_minutes: Length of the window in minutes; 1440 by default.
            from_: Start of the window, inclusive. Replaces `sinceMinutes`.
            to: End of the window, exclusive. By default 5 minutes in the future, because device clocks can be fast.
            modem: Only this modem.
        """
        answer: types.DeviceOutages = self._json(Call(
            "GET",
            f"/api/{segment(model_segment)}/{segment(device_id)}/telemetry/outages",
            query={"sinceMinutes": since_minutes, "from": from_, "to": to, "modem": modem},
        ))
        return answer

    @overload
    def get_fleet_gps(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        bbox: str | None = None,
        zoom: float | None = None,
        h3_resolution: int | None = None,
        rat: types.RadioAccessTechnology | None = None,
        plmn: str | None = None,
        place_id: str | None = None,
        since_minutes: int | None = None,
        device_id: str | Sequence[str] | None = None,
        fields: types.GetFleetGpsFields | Sequence[types.GetFleetGpsFields] | None = None,
        include: types.GetFleetGpsInclude | Sequence[types.GetFleetGpsInclude] | None = None,
        cluster: bool | None = None,
        format: Literal["json", "columnar"] | None = None,
        since: str | None = None,
        cursor: str | None = None,
        if_none_match: None = None,
    ) -> types.FleetGps: ...
    @overload
    def get_fleet_gps(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        bbox: str | None = None,
        zoom: float | None = None,
        h3_resolution: int | None = None,
        rat: types.RadioAccessTechnology | None = None,
        plmn: str | None = None,
        place_id: str | None = None,
        since_minutes: int | None = None,
        device_id: str | Sequence[str] | None = None,
        fields: types.GetFleetGpsFields | Sequence[types.GetFleetGpsFields] | None = None,
        include: types.GetFleetGpsInclude | Sequence[types.GetFleetGpsInclude] | None = None,
        cluster: bool | None = None,
        format: Literal["json", "columnar"] | None = None,
        since: str | None = None,
        cursor: str | None = None,
        if_none_match: str,
    ) -> types.FleetGps | None: ...
    @overload
    def get_fleet_gps(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        bbox: str | None = None,
        zoom: float | None = None,
        h3_resolution: int | None = None,
        rat: types.RadioAccessTechnology | None = None,
        plmn: str | None = None,
        place_id: str | None = None,
        since_minutes: int | None = None,
        device_id: str | Sequence[str] | None = None,
        fields: types.GetFleetGpsFields | Sequence[types.GetFleetGpsFields] | None = None,
        include: types.GetFleetGpsInclude | Sequence[types.GetFleetGpsInclude] | None = None,
        cluster: bool | None = None,
        format: Literal["geojson"],
        since: str | None = None,
        cursor: str | None = None,
        if_none_match: None = None,
    ) -> types.FleetFeatureCollection: ...
    @overload
    def get_fleet_gps(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        bbox: str | None = None,
        zoom: float | None = None,
        h3_resolution: int | None = None,
        rat: types.RadioAccessTechnology | None = None,
        plmn: str | None = None,
        place_id: str | None = None,
        since_minutes: int | None = None,
        device_id: str | Sequence[str] | None = None,
        fields: types.GetFleetGpsFields | Sequence[types.GetFleetGpsFields] | None = None,
        include: types.GetFleetGpsInclude | Sequence[types.GetFleetGpsInclude] | None = None,
        cluster: bool | None = None,
        format: Literal["geojson"],
        since: str | None = None,
        cursor: str | None = None,
        if_none_match: str,
    ) -> types.FleetFeatureCollection | None: ...
    def get_fleet_gps(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        bbox: str | None = None,
        zoom: float | None = None,
        h3_resolution: int | None = None,
        rat: types.RadioAccessTechnology | None = None,
        plmn: str | None = None,
        place_id: str | None = None,
        since_minutes: int | None = None,
        device_id: str | Sequence[str] | None = None,
        fields: types.GetFleetGpsFields | Sequence[types.GetFleetGpsFields] | None = None,
        include: types.GetFleetGpsInclude | Sequence[types.GetFleetGpsInclude] | None = None,
        cluster: bool | None = None,
        format: Literal["json", "columnar", "geojson"] | None = None,
        since: str | None = None,
        cursor: str | None = None,
        if_none_match: str | None = None,
    ) -> Any:
        """Get device positions, signal, coverage and dwells

        Returns devices with their last usable fix, signal aligned with the position where it was measured, coverage
        by H3 cell, and dwells. With `since`, the response contains only changes. In GeoJSON, cells and trails are
        split at the antimeridian (RFC 7946, 3.1.9); the property `ts` of a trail has the time of each position, in
        one list for each part.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged.
            tag: Can be repeated. Returns devices that have all of these tags.
            bbox: minLon,minLat,maxLon,maxLat in degrees. minLon > maxLon is a box across the antimeridian.
            zoom: Zoom of the map; sets the resolution of the response.
            place_id: Returns only what is inside this place.
            device_id: Can be repeated. Returns only these devices. Does not apply to `coverage` and `dwells`.
            fields: Fields of each device to return: paths such as `signal.rsrpDbm`, or groups such as `location`.
            include: Parts to return: `devices`, `coverage` and `dwells` by default; also `trails`, whose points
                have the signal of the modem that was active then, and `modems`: the signal of each modem of a
                device.
            cluster: Combines devices that would overlap at `zoom`.
            since: The `asOf` of an earlier response. Returns only changes since then.
            cursor: The `nextCursor` of the previous page.
            if_none_match: The ETag you have; 304 when it is still current.
        """
        return self._optional(Call(
            "GET",
            "/fleet/gps",
            query={
                "orgId": org_id,
                "groupId": group_id,
                "tag": tag,
                "bbox": bbox,
                "zoom": zoom,
                "h3Resolution": h3_resolution,
                "rat": rat,
                "plmn": plmn,
                "placeId": place_id,
                "sinceMinutes": since_minutes,
                "deviceId": device_id,
                "fields": fields,
                "include": include,
                "cluster": cluster,
                "format": format,
                "since": since,
                "cursor": cursor,
            },
            headers={"If-None-Match": if_none_match},
        ))

    def stream_fleet_gps(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        bbox: str | None = None,
        zoom: float | None = None,
        h3_resolution: int | None = None,
        rat: types.RadioAccessTechnology | None = None,
        plmn: str | None = None,
        place_id: str | None = None,
        since_minutes: int | None = None,
        device_id: str | Sequence[str] | None = None,
        fields: types.GetFleetGpsFields | Sequence[types.GetFleetGpsFields] | None = None,
        include: types.GetFleetGpsInclude | Sequence[types.GetFleetGpsInclude] | None = None,
        cluster: bool | None = None,
        format: Literal["json", "columnar", "geojson"] | None = None,
        since: str | None = None,
        cursor: str | None = None,
    ) -> Download:
        """Stream fleet GPS as server-sent events

        Sends a `snapshot` event with the response of `/fleet/gps`, then a `delta` event for each change. Event ids
        are `asOf` values: send `Last-Event-ID` to resume after a disconnect. A client can open 20 streams and an
        organization 100; more return 429 `too_many_streams`. The server disconnects clients that do not read for a
        minute.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged.
            tag: Can be repeated. Returns devices that have all of these tags.
            bbox: minLon,minLat,maxLon,maxLat in degrees. minLon > maxLon is a box across the antimeridian.
            zoom: Zoom of the map; sets the resolution of the response.
            place_id: Returns only what is inside this place.
            device_id: Can be repeated. Returns only these devices. Does not apply to `coverage` and `dwells`.
            fields: Fields of each device to return: paths such as `signal.rsrpDbm`, or groups such as `location`.
            include: Parts to return: `devices`, `coverage` and `dwells` by default; also `trails`, whose points
                have the signal of the modem that was active then, and `modems`: the signal of each modem of a
                device.
            cluster: Combines devices that would overlap at `zoom`.
            since: The `asOf` of an earlier response. Returns only changes since then.
        """
        return self._download(Call(
            "GET",
            "/fleet/gps/stream",
            query={
                "orgId": org_id,
                "groupId": group_id,
                "tag": tag,
                "bbox": bbox,
                "zoom": zoom,
                "h3Resolution": h3_resolution,
                "rat": rat,
                "plmn": plmn,
                "placeId": place_id,
                "sinceMinutes": since_minutes,
                "deviceId": device_id,
                "fields": fields,
                "include": include,
                "cluster": cluster,
                "format": format,
                "since": since,
                "cursor": cursor,
            },
        ))

    def download_coverage(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        bbox: str | None = None,
        zoom: float | None = None,
        h3_resolution: int | None = None,
        rat: types.RadioAccessTechnology | None = None,
        plmn: str | None = None,
        since_minutes: int | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
        format: Literal["csv", "parquet"],
    ) -> Download:
        """Get signal coverage by cell

        As CSV and Parquet, it has the columns of the collection in `/ogc`, and Parquet also GeoParquet’s column
        `geometry`. The connection closes before the end of the file if the caller loses its access during the
        download. `byRat` and `byPlmn` are left out. The geometry is the hexagon of the cell.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged.
            tag: Can be repeated. Returns devices that have all of these tags.
            bbox: minLon,minLat,maxLon,maxLat in degrees. minLon > maxLon is a box across the antimeridian.
            zoom: Zoom of the map; sets the resolution of the response.
            from_: Start of a range in the past, with `to`. Replaces `sinceMinutes`.
            to: End of the range.
            format: The format of the response. By default the one that `Accept` prefers, and JSON without that
                header.
        """
        return self._download(Call(
            "GET",
            "/fleet/coverage",
            query={
                "orgId": org_id,
                "groupId": group_id,
                "tag": tag,
                "bbox": bbox,
                "zoom": zoom,
                "h3Resolution": h3_resolution,
                "rat": rat,
                "plmn": plmn,
                "sinceMinutes": since_minutes,
                "from": from_,
                "to": to,
                "format": format,
            },
        ))

    def get_coverage(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        bbox: str | None = None,
        zoom: float | None = None,
        h3_resolution: int | None = None,
        rat: types.RadioAccessTechnology | None = None,
        plmn: str | None = None,
        since_minutes: int | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
    ) -> types.Coverage:
        """Get signal coverage by cell

        As CSV and Parquet, it has the columns of the collection in `/ogc`, and Parquet also GeoParquet’s column
        `geometry`. The connection closes before the end of the file if the caller loses its access during the
        download. `byRat` and `byPlmn` are left out. The geometry is the hexagon of the cell.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged.
            tag: Can be repeated. Returns devices that have all of these tags.
            bbox: minLon,minLat,maxLon,maxLat in degrees. minLon > maxLon is a box across the antimeridian.
            zoom: Zoom of the map; sets the resolution of the response.
            from_: Start of a range in the past, with `to`. Replaces `sinceMinutes`.
            to: End of the range.
        """
        answer: types.Coverage = self._json(Call(
            "GET",
            "/fleet/coverage",
            query={
                "orgId": org_id,
                "groupId": group_id,
                "tag": tag,
                "bbox": bbox,
                "zoom": zoom,
                "h3Resolution": h3_resolution,
                "rat": rat,
                "plmn": plmn,
                "sinceMinutes": since_minutes,
                "from": from_,
                "to": to,
            },
        ))
        return answer

    def list_dead_zones(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        bbox: str | None = None,
        since_minutes: int | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
        plmn: str | None = None,
        zone_id: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.DeadZone, types.DeadZonePage]:
        """List dead zones

        A dead zone is a group of adjacent H3 cells at resolution 9. Each cell has at least 5 votes, and either less
        than 90 % of the moments (a device in a minute) have service or the median signal quality is `none`. `bbox`
        filters by the centre of a zone.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged.
            tag: Can be repeated. Returns devices that have all of these tags.
            bbox: minLon,minLat,maxLon,maxLat in degrees. minLon > maxLon is a box across the antimeridian.
            from_: Start of a range in the past, with `to`. Replaces `sinceMinutes`.
            to: End of the range.
            plmn: Uses only samples of this operator.
            zone_id: Returns only the zone with this `id`; none if it is no dead zone any more.
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            "/fleet/dead-zones",
            query={
                "orgId": org_id,
                "groupId": group_id,
                "tag": tag,
                "bbox": bbox,
                "sinceMinutes": since_minutes,
                "from": from_,
                "to": to,
                "plmn": plmn,
                "zoneId": zone_id,
                "cursor": cursor,
                "limit": limit,
            },
        ))

    def get_signal_trend(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        rat: types.RadioAccessTechnology | None = None,
        plmn: str | None = None,
        since_minutes: int | None = None,
    ) -> types.SignalTrend:
        """Get the signal over time and by operator

        Adds up the votes of coverage: one per device, modem, cell and minute, for samples with a position. Returns
        them by time and by operator, with the worst operator first.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged.
            tag: Can be repeated. Returns devices that have all of these tags.
            plmn: Uses only samples of this operator.
        """
        answer: types.SignalTrend = self._json(Call(
            "GET",
            "/fleet/signal-trend",
            query={
                "orgId": org_id,
                "groupId": group_id,
                "tag": tag,
                "rat": rat,
                "plmn": plmn,
                "sinceMinutes": since_minutes,
            },
        ))
        return answer

    def get_operators(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        bbox: str | None = None,
        h3: str | None = None,
        place_id: str | None = None,
        rat: types.RadioAccessTechnology | None = None,
        since_minutes: int | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
    ) -> types.Operators:
        """Rank the operators in an area

        Ranks operators by the share of their votes with service, then by their median RSRP. A vote without service
        counts for the operator that the modem lost. `h3`, `placeId` or `bbox` choose the area: cells of coverage
        with their centre inside count or, in an area that contains none, the cell around its middle. Without an
        area, all votes of the devices count.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged.
            tag: Can be repeated. Returns devices that have all of these tags.
            bbox: minLon,minLat,maxLon,maxLat in degrees. minLon > maxLon is a box across the antimeridian.
            h3: Counts only votes in this H3 cell, of resolution 4 to 10.
            place_id: Returns only what is inside this place.
            from_: Start of a range in the past, with `to`. Replaces `sinceMinutes`.
            to: End of the range.
        """
        answer: types.Operators = self._json(Call(
            "GET",
            "/fleet/operators",
            query={
                "orgId": org_id,
                "groupId": group_id,
                "tag": tag,
                "bbox": bbox,
                "h3": h3,
                "placeId": place_id,
                "rat": rat,
                "sinceMinutes": since_minutes,
                "from": from_,
                "to": to,
            },
        ))
        return answer

    def forecast_route(self, body: types.ForecastRouteRequest) -> types.RouteForecast:
        """Forecast the signal along a route

        Blends the votes of the cells around each segment of the path, from H3 resolution 10 to 7. The request is a
        POST because a path can be too long for a URL. It does not change anything.

        Requires the scope `fleet:read`.
        """
        answer: types.RouteForecast = self._json(Call("POST", "/fleet/forecast", json=body))
        return answer

    def download_dwells(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        bbox: str | None = None,
        device_id: str | None = None,
        place_id: str | None = None,
        since_minutes: int | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
        min_duration_s: int | None = None,
        ongoing: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        format: Literal["csv", "parquet"],
    ) -> Download:
        """List dwells

        As CSV and Parquet, it has the columns of the collection in `/ogc`, and Parquet also GeoParquet’s column
        `geometry`. The connection closes before the end of the file if the caller loses its access during the
        download. The geometry is the centre of the dwell.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged.
            tag: Can be repeated. Returns devices that have all of these tags.
            bbox: minLon,minLat,maxLon,maxLat in degrees. minLon > maxLon is a box across the antimeridian.
            place_id: Returns dwells whose centre is inside this place.
            min_duration_s: Minimum duration in seconds, at most 400 days.
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items. By default 50 for JSON and unlimited for CSV and Parquet.
            format: The format of the response. By default the one that `Accept` prefers, and JSON without that
                header.
        """
        return self._download(Call(
            "GET",
            "/fleet/dwells",
            query={
                "orgId": org_id,
                "groupId": group_id,
                "tag": tag,
                "bbox": bbox,
                "deviceId": device_id,
                "placeId": place_id,
                "sinceMinutes": since_minutes,
                "from": from_,
                "to": to,
                "minDurationS": min_duration_s,
                "ongoing": ongoing,
                "cursor": cursor,
                "limit": limit,
                "format": format,
            },
        ))

    def list_dwells(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        bbox: str | None = None,
        device_id: str | None = None,
        place_id: str | None = None,
        since_minutes: int | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
        min_duration_s: int | None = None,
        ongoing: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.DwellInPlaces, types.DwellInPlacesPage]:
        """List dwells

        As CSV and Parquet, it has the columns of the collection in `/ogc`, and Parquet also GeoParquet’s column
        `geometry`. The connection closes before the end of the file if the caller loses its access during the
        download. The geometry is the centre of the dwell.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged.
            tag: Can be repeated. Returns devices that have all of these tags.
            bbox: minLon,minLat,maxLon,maxLat in degrees. minLon > maxLon is a box across the antimeridian.
            place_id: Returns dwells whose centre is inside this place.
            min_duration_s: Minimum duration in seconds, at most 400 days.
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items. By default 50 for JSON and unlimited for CSV and Parquet.
        """
        return self._list(Call(
            "GET",
            "/fleet/dwells",
            query={
                "orgId": org_id,
                "groupId": group_id,
                "tag": tag,
                "bbox": bbox,
                "deviceId": device_id,
                "placeId": place_id,
                "sinceMinutes": since_minutes,
                "from": from_,
                "to": to,
                "minDurationS": min_duration_s,
                "ongoing": ongoing,
                "cursor": cursor,
                "limit": limit,
            },
        ))

    def download_trips(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        device_id: str | None = None,
        since_minutes: int | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        format: Literal["csv", "parquet"],
    ) -> Download:
        """List trips

        A trip is the way of a device from a dwell to its next one. A gap of more than 15 minutes between fixes
        splits it into trips with `gap: true`. Without `from` and `to`, returns the trips of the last 24 hours. The
        window is that of the departure from a dwell. As CSV and Parquet, it has the columns of the collection in
        `/ogc`, and Parquet also GeoParquet’s column `geometry`. The connection closes before the end of the file if
        the caller loses its access during the download. The geometry is a line with at most 500 positions.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged.
            tag: Can be repeated. Returns devices that have all of these tags.
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items. By default 50 for JSON and unlimited for CSV and Parquet.
            format: The format of the response. By default the one that `Accept` prefers, and JSON without that
                header.
        """
        return self._download(Call(
            "GET",
            "/fleet/trips",
            query={
                "orgId": org_id,
                "groupId": group_id,
                "tag": tag,
                "deviceId": device_id,
                "sinceMinutes": since_minutes,
                "from": from_,
                "to": to,
                "cursor": cursor,
                "limit": limit,
                "format": format,
            },
        ))

    def list_trips(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        device_id: str | None = None,
        since_minutes: int | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.Trip, types.TripPage]:
        """List trips

        A trip is the way of a device from a dwell to its next one. A gap of more than 15 minutes between fixes
        splits it into trips with `gap: true`. Without `from` and `to`, returns the trips of the last 24 hours. The
        window is that of the departure from a dwell. As CSV and Parquet, it has the columns of the collection in
        `/ogc`, and Parquet also GeoParquet’s column `geometry`. The connection closes before the end of the file if
        the caller loses its access during the download. The geometry is a line with at most 500 positions.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged.
            tag: Can be repeated. Returns devices that have all of these tags.
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items. By default 50 for JSON and unlimited for CSV and Parquet.
        """
        return self._list(Call(
            "GET",
            "/fleet/trips",
            query={
                "orgId": org_id,
                "groupId": group_id,
                "tag": tag,
                "deviceId": device_id,
                "sinceMinutes": since_minutes,
                "from": from_,
                "to": to,
                "cursor": cursor,
                "limit": limit,
            },
        ))

    def get_signal_thresholds(self) -> types.SignalThresholds:
        """Get signal quality thresholds

        Requires an API key or an access token with any scope.
        """
        answer: types.SignalThresholds = self._json(Call("GET", "/signal-thresholds"))
        return answer

    def list_radio_health(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        since_minutes: int | None = None,
        status: types.ListRadioHealthStatus | Sequence[types.ListRadioHealthStatus] | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.RadioHealth, types.RadioHealthPage]:
        """List radios, weakest first

        Compares the RSRP of each modem with other devices of the same organization, in the same H3 cell of
        resolution 10 and on the same serving cell, over 30 days or the history of the plan. The comparison runs
        each night, and every ten minutes on the first day of an organization with up to 10,000 devices. Modems that
        measured nothing are not listed.

        Requires the scope `fleet:read`.

        Args:
            org_id: By default, all organizations that you can read.
            tag: Can be repeated. Returns devices that have all of these tags.
            since_minutes: Leaves out organizations whose last comparison is older.
            status: Can be repeated. By default, all statuses.
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            "/fleet/radio-health",
            query={
                "orgId": org_id,
                "groupId": group_id,
                "tag": tag,
                "sinceMinutes": since_minutes,
                "status": status,
                "cursor": cursor,
                "limit": limit,
            },
        ))

    def get_device_radio_health(self, id: str) -> types.DeviceRadioHealth:
        """Get the radio health of a device

        Returns the last comparison of each modem, and the shared cells behind it.

        Requires the scope `fleet:read`.
        """
        answer: types.DeviceRadioHealth = self._json(Call("GET", f"/devices/{segment(id)}/radio-health"))
        return answer

    def create_radio_health_run(self, org_id: str) -> types.RadioHealthRun:
        """Compare the radios now

        Starts a comparison within seconds. An organization has one at a time: while one waits or runs, the response
        describes that one.

        Requires the scope `org:write`.
        """
        answer: types.RadioHealthRun = self._json(Call("POST", f"/orgs/{segment(org_id)}/radio-health-runs"))
        return answer

    def list_sim_advice(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        since_minutes: int | None = None,
        device_id: str | Sequence[str] | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.SimAdvice, types.SimAdvicePage]:
        """List SIMs by what another operator would save

        Compares the minutes without service of each modem with what the fleet's own votes say of other operators in
        the same H3 cells of resolution 10. In cells without votes of an operator, the minutes count as today; if
        that is more than half of the minutes, the operator is not known. Compared together with radio health: each
        night, every ten minutes on the first day of an organization with up to 10,000 devices, and on request.
        Modems without a position are not listed.

        Requires the scope `fleet:read`.

        Args:
            org_id: By default, all organizations that you can read.
            tag: Can be repeated. Returns devices that have all of these tags.
            since_minutes: Leaves out organizations whose last comparison is older.
            device_id: Can be repeated, up to 200 times.
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call(
            "GET",
            "/fleet/sim-advice",
            query={
                "orgId": org_id,
                "groupId": group_id,
                "tag": tag,
                "sinceMinutes": since_minutes,
                "deviceId": device_id,
                "cursor": cursor,
                "limit": limit,
            },
        ))

    def get_nearest_town(self, *, lat: float, lon: float) -> types.NearestTown:
        """Get the nearest town of a position

        Names a position as people do: “12 km north-east of Arnhem”. Trips, dwells, dead zones, times without
        service, alerts and lists of devices have this already.

        Requires an API key or an access token with any scope.

        Args:
            lat: Latitude in degrees.
            lon: Longitude in degrees.
        """
        answer: types.NearestTown = self._json(Call("GET", "/towns/nearest", query={"lat": lat, "lon": lon}))
        return answer

    def get_fleet_tile(
        self,
        z: int,
        x: int,
        y: int,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        status: types.DeviceStatus | None = None,
        rat: types.RadioAccessTechnology | None = None,
        plmn: str | None = None,
        signal: str | Sequence[str] | None = None,
        since_minutes: int | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
        layers: types.GetFleetTileLayers | Sequence[types.GetFleetTileLayers] | None = None,
        if_none_match: str | None = None,
    ) -> Download:
        """Get a vector tile of the fleet

        Returns a Mapbox Vector Tile 2.1 (extent 4096) with the layers `devices`, `coverage` and `dwells`. From zoom
        13 on, `devices` contains each device. At lower zooms, it contains one feature for each H3 cell: a single
        device, or a cluster with `count`, `online`, `offline` and `worstQuality`. Each device or cluster is in
        exactly one tile. `status` and `signal` apply to `devices`, `rat` and `plmn` to `devices` and `coverage`. A
        property without a value is left out. `X-Layers-Omitted` names layers that the plan does not include or that
        have too many items. `/fleet/tiles.json` lists all properties.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged.
            tag: Can be repeated. Returns devices that have all of these tags.
            status: Returns devices with this status.
            signal: Can be repeated. Returns devices with a signal of one of these classes; `unknown`: without one.
            from_: Start of a range in the past, with `to`. Replaces `sinceMinutes`. Devices are then where they
                were last in the range, with their signal of that time.
            to: End of the range.
            layers: Layers to return. By default, all layers.
            if_none_match: The ETag you have; 304 when it is still current.
        """
        return self._download(Call(
            "GET",
            f"/fleet/tiles/{segment(z)}/{segment(x)}/{segment(y)}.mvt",
            query={
                "orgId": org_id,
                "groupId": group_id,
                "tag": tag,
                "status": status,
                "rat": rat,
                "plmn": plmn,
                "signal": signal,
                "sinceMinutes": since_minutes,
                "from": from_,
                "to": to,
                "layers": layers,
            },
            headers={"If-None-Match": if_none_match},
        ))

    def get_fleet_tile_json(
        self,
        *,
        org_id: str | None = None,
        group_id: str | None = None,
        tag: str | Sequence[str] | None = None,
        status: types.DeviceStatus | None = None,
        rat: types.RadioAccessTechnology | None = None,
        plmn: str | None = None,
        signal: str | Sequence[str] | None = None,
        since_minutes: int | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
        layers: types.GetFleetTileLayers | Sequence[types.GetFleetTileLayers] | None = None,
    ) -> types.TileJson:
        """Describe the vector tiles as TileJSON

        Returns TileJSON 3.0.0 for MapLibre, QGIS and other clients. The address of the tiles contains the query of
        this request. `window` is the time of the query within the history of the plan, and `fleet` describes the
        devices of the query. Requests for tiles need the same `Authorization` header.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged.
            tag: Can be repeated. Returns devices that have all of these tags.
            status: Returns devices with this status.
            signal: Can be repeated. Returns devices with a signal of one of these classes; `unknown`: without one.
            from_: Start of a range in the past, with `to`. Replaces `sinceMinutes`. Devices are then where they
                were last in the range, with their signal of that time.
            to: End of the range.
            layers: Layers to return. By default, all layers.
        """
        answer: types.TileJson = self._json(Call(
            "GET",
            "/fleet/tiles.json",
            query={
                "orgId": org_id,
                "groupId": group_id,
                "tag": tag,
                "status": status,
                "rat": rat,
                "plmn": plmn,
                "signal": signal,
                "sinceMinutes": since_minutes,
                "from": from_,
                "to": to,
                "layers": layers,
            },
        ))
        return answer

    def get_ogc(self, *, org_id: str | None = None, datetime: str | None = None) -> types.OgcLandingPage:
        """Get the landing page of the OGC API

        The address of this document is what QGIS and GDAL ask for.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged. The links of the response have the same value.
            datetime: Links to items have the same value.
        """
        answer: types.OgcLandingPage = self._json(Call("GET", "/ogc", query={"orgId": org_id, "datetime": datetime}))
        return answer

    def get_ogc_conformance(self, *, org_id: str | None = None) -> types.OgcConformance:
        """List the conformance classes of the OGC API

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged. The links of the response have the same value.
        """
        answer: types.OgcConformance = self._json(Call("GET", "/ogc/conformance", query={"orgId": org_id}))
        return answer

    def get_ogc_collections(self, *, org_id: str | None = None, datetime: str | None = None) -> types.OgcCollections:
        """List the collections of features

        Leaves out collections that the plan does not include.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged. The links of the response have the same value.
            datetime: Links to items have the same value.
        """
        answer: types.OgcCollections = self._json(Call(
            "GET",
            "/ogc/collections",
            query={"orgId": org_id, "datetime": datetime},
        ))
        return answer

    def get_ogc_collection(
        self,
        collection: Literal["devices", "dwells", "trips", "coverage", "dead-zones"],
        *,
        org_id: str | None = None,
        datetime: str | None = None,
    ) -> types.OgcCollection:
        """Describe a collection of features

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged. The links of the response have the same value.
            datetime: Links to items have the same value.
        """
        answer: types.OgcCollection = self._json(Call(
            "GET",
            f"/ogc/collections/{segment(collection)}",
            query={"orgId": org_id, "datetime": datetime},
        ))
        return answer

    def get_ogc_collection_schema(
        self,
        collection: Literal["devices", "dwells", "trips", "coverage", "dead-zones"],
        *,
        org_id: str | None = None,
    ) -> types.GetOgcCollectionSchemaResult:
        """Get the JSON Schema of a feature

        Names and types of the properties. Any property can be null.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged. The links of the response have the same value.
        """
        answer: types.GetOgcCollectionSchemaResult = self._json(Call(
            "GET",
            f"/ogc/collections/{segment(collection)}/schema",
            query={"orgId": org_id},
        ))
        return answer

    def get_ogc_collection_items(
        self,
        collection: Literal["devices", "dwells", "trips", "coverage", "dead-zones"],
        *,
        org_id: str | None = None,
        bbox: str | None = None,
        datetime: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> types.OgcFeatures:
        """List features

        Returns GeoJSON (RFC 7946). Follow the link `next` until a page has none. Geometries across the antimeridian
        are in parts.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged. The links of the response have the same value.
            bbox: minLon,minLat,maxLon,maxLat in degrees (CRS84), or six numbers with heights, which are ignored.
                minLon > maxLon is a box across the antimeridian.
            datetime: A time (RFC 3339), or an interval such as `2026-05-04T00:00:00Z/..`, both ends included. By
                default the last 24 hours. The plan limits how far back it goes. Each collection describes which
                time counts.
            limit: Maximum number of features on a page. At most 10000 are returned, and of dwells, trips and dead
                zones 200.
            cursor: Part of the link to the next page.
        """
        answer: types.OgcFeatures = self._json(Call(
            "GET",
            f"/ogc/collections/{segment(collection)}/items",
            query={"orgId": org_id, "bbox": bbox, "datetime": datetime, "limit": limit, "cursor": cursor},
        ))
        return answer

    def get_ogc_collection_item(
        self,
        collection: Literal["devices", "dwells", "trips", "coverage", "dead-zones"],
        feature: str,
        *,
        org_id: str | None = None,
        datetime: str | None = None,
    ) -> types.OgcFeature:
        """Get a feature

        The `id` of a device is its device id, that of a coverage cell its H3 index, and that of a dead zone its
        lowest H3 index, which changes with its cells. The `id` of a dwell or a trip is its device id, a full stop
        and its beginning in milliseconds since 1970.

        Requires the scope `fleet:read`.

        Args:
            org_id: Returns data of this organization only. By default, all organizations that you can read are
                merged. The links of the response have the same value.
            datetime: The time for which `coverage` and `dead-zones` count. It has no effect on other collections.
        """
        answer: types.OgcFeature = self._json(Call(
            "GET",
            f"/ogc/collections/{segment(collection)}/items/{segment(feature)}",
            query={"orgId": org_id, "datetime": datetime},
        ))
        return answer

    def list_saved_views(
        self,
        org_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Listing[types.SavedView, types.SavedViewPage]:
        """List saved views

        Returns the views that you saved, and those that others shared.

        Requires the scope `fleet:read`.

        Args:
            cursor: The `nextCursor` of the previous page.
            limit: Maximum number of items on a page.
        """
        return self._list(Call("GET", f"/orgs/{segment(org_id)}/views", query={"cursor": cursor, "limit": limit}))

    def create_saved_view(
        self,
        org_id: str,
        body: types.CreateSavedViewRequest,
        *,
        idempotency_key: str | None = None,
    ) -> types.SavedView:
        """Save a view

        Requires the scope `fleet:read`.

        Args:
            idempotency_key: A repeated request with the same key returns the response of the first request. Keys
                are kept for 24 hours.
        """
        answer: types.SavedView = self._json(Call(
            "POST",
            f"/orgs/{segment(org_id)}/views",
            headers={"Idempotency-Key": idempotency_key},
            json=body,
        ))
        return answer

    def delete_saved_view(self, org_id: str, id: str) -> None:
        """Delete a saved view

        You can delete your own views and, with `org:write`, shared ones.

        Requires the scope `fleet:read`.
        """
        self._none(Call("DELETE", f"/orgs/{segment(org_id)}/views/{segment(id)}"))

    def report_telemetry(self, body: types.TelemetryReport) -> types.AcceptedReport:
        """Report telemetry

        Send up to 1,000 samples and 1 MiB as JSON or NDJSON, optionally compressed with gzip or zstd. Invalid
        samples are listed in `rejected`; all other samples are stored durably before the response is sent.

        Requires a device token.
        """
        answer: types.AcceptedReport = self._json(Call("POST", "/telemetry", json=body))
        return answer

    def enroll_device(self, body: types.EnrollDeviceRequest) -> types.EnrolledDevice:
        """Enroll a router with an enrollment key

        A router that did not receive the response repeats the request. With the same `nonce` within 24 hours, it
        receives the same device and a new token.

        Requires no credentials.
        """
        answer: types.EnrolledDevice = self._json(Call("POST", "/device/enroll", json=body, needs_key=False))
        return answer

    def get_next_job(self, *, wait_seconds: int | None = None) -> types.NextJob | None:
        """Get the next job, with long polling

        Requires a device token.
        """
        answer: types.NextJob | None = self._optional(Call(
            "GET",
            "/device/jobs/next",
            query={"waitSeconds": wait_seconds},
        ))
        return answer

    def report_job_status(self, id: str, body: types.ReportJobStatusRequest) -> types.ReportedJob:
        """Report the status of a job

        Requires a device token.
        """
        answer: types.ReportedJob = self._json(Call("POST", f"/device/jobs/{segment(id)}/status", json=body))
        return answer

    def get_applied_config(self, *, if_none_match: str | None = None) -> types.AppliedConfig | None:
        """Get the config profile last applied to the device

        Requires a device token.

        Args:
            if_none_match: The ETag you have; 304 when it is still current.
        """
        answer: types.AppliedConfig | None = self._optional(Call(
            "GET",
            "/device/config",
            headers={"If-None-Match": if_none_match},
        ))
        return answer

    def report_config(self, body: types.ReportedConfig) -> types.JudgedConfig:
        """Report the config that the device runs

        After a profile was applied, at each start, and when the config changes on the device. Secrets in `settings`
        are not stored.

        Requires a device token.
        """
        answer: types.JudgedConfig = self._json(Call("PUT", "/device/config", json=body))
        return answer

    def report_openwisp_telemetry(
        self,
        device_id: str,
        body: types.ReportOpenwispTelemetryRequest | dict[str, Any],
        *,
        key: str | None = None,
        time: str | None = None,
        current: str | None = None,
    ) -> None:
        """Report telemetry as the OpenWISP monitoring agent does

        NetJSON DeviceMonitoring. Members that have no field are dropped and counted. `docs/adapters.md` has the
        mapping.

        Requires a device token.

        Args:
            key: The device token, unless it is in the `Authorization` header.
            time: When the report was taken: DD-MM-YYYY_HH:MM:SS.ffffff in UTC.
            current: `true` if the report was not buffered.
        """
        self._none(Call(
            "POST",
            f"/adapters/openwisp/api/v1/monitoring/device/{segment(device_id)}/",
            query={"key": key, "time": time, "current": current},
            json=body,
        ))

    def report_influx_telemetry(
        self,
        body: str | bytes,
        *,
        precision: Literal["ns", "us", "ms", "s"] | None = None,
        org: str | None = None,
        bucket: str | None = None,
    ) -> None:
        """Write telemetry as to InfluxDB v2

        Line protocol. The measurement is the kind of telemetry; fields and tags have the names of telemetry fields,
        and others are dropped and counted. Send the device token as `Authorization: Token fld_…`. Errors have the
        form of InfluxDB; after a partial write, all valid points are stored.

        Requires a device token.

        Args:
            precision: The unit of timestamps.
            org: Ignored.
            bucket: Ignored.
        """
        self._none(Call(
            "POST",
            "/adapters/influx/api/v2/write",
            query={"precision": precision, "org": org, "bucket": bucket},
            content=body,
            content_type="text/plain",
        ))

    def report_teltonika_telemetry(
        self,
        body: types.TeltonikaRecord | list[types.TeltonikaRecord] | None = None,
    ) -> types.AdapterOutcome:
        """Report telemetry as RUTOS "Data to Server" does

        A record, a list of records, or either of them in `data`. Members that have no field are dropped and
        counted. `docs/adapters.md` has the mapping.

        Requires a device token.
        """
        answer: types.AdapterOutcome = self._json(Call("POST", "/adapters/teltonika", json=body))
        return answer

    def report_otlp_telemetry(
        self,
        body: types.ReportOtlpTelemetryRequest | dict[str, Any] | None = None,
    ) -> types.ReportOtlpTelemetryResult:
        """Export metrics with OTLP

        An `ExportMetricsServiceRequest` in protobuf or JSON. Gauges and cumulative sums are named after telemetry
        fields, such as `cellular.rsrpDbm`; text fields are attributes of data points. Other metrics are rejected in
        `partialSuccess`. Errors are a `google.rpc.Status`.

        Requires a device token.
        """
        answer: types.ReportOtlpTelemetryResult = self._json(Call("POST", "/adapters/otlp/v1/metrics", json=body))
        return answer

    def report_modemmanager_telemetry(
        self,
        body: types.ReportModemmanagerTelemetryRequest | dict[str, Any],
    ) -> types.AdapterOutcome:
        """Report the output of ModemManager

        The JSON that `mmcli -J` prints, with `--signal-get`, `--location-get` or neither.

        Requires a device token.
        """
        answer: types.AdapterOutcome = self._json(Call("POST", "/adapters/modemmanager", json=body))
        return answer

    def report_inhand_telemetry(self, body: dict[str, Any] | None = None) -> types.AdapterOutcome:
        """Report telemetry as InHand gateways publish it

        A message of FlexAPI: a flat object with names such as `gnss.latitude`.

        Requires a device token.
        """
        answer: types.AdapterOutcome = self._json(Call("POST", "/adapters/inhand", json=body))
        return answer

    def report_cradlepoint_telemetry(self, body: str | bytes) -> types.AdapterOutcome:
        """Report telemetry as Cradlepoint routers do

        Lines of the GPS client, or the diagnostics of a modem as JSON.

        Requires a device token.
        """
        answer: types.AdapterOutcome = self._json(Call(
            "POST",
            "/adapters/cradlepoint",
            content=body,
            content_type="text/plain",
        ))
        return answer

    def report_nmea_telemetry(self, body: str | bytes) -> types.AdapterOutcome:
        """Report NMEA 0183 sentences

        One sentence a line, with its checksum. The sentences of one time become one position.

        Requires a device token.
        """
        answer: types.AdapterOutcome = self._json(Call(
            "POST",
            "/adapters/nmea",
            content=body,
            content_type="text/plain",
        ))
        return answer

    def report_gpsd_telemetry(
        self,
        body: str | bytes,
        *,
        content_type: Literal["text/plain", "application/x-ndjson"],
    ) -> types.AdapterOutcome:
        """Report the objects of gpsd

        One object a line, as gpsd sends them to its clients. TPV and SKY are read.

        Requires a device token.
        """
        answer: types.AdapterOutcome = self._json(Call(
            "POST",
            "/adapters/gpsd",
            content=body,
            content_type=content_type,
        ))
        return answer

    def check_liveness(self) -> types.Liveness:
        """Check liveness

        Requires no credentials.
        """
        answer: types.Liveness = self._json(Call("GET", "/livez", needs_key=False))
        return answer

    def check_readiness(self) -> types.Readiness:
        """Check readiness

        Requires no credentials.
        """
        answer: types.Readiness = self._json(Call("GET", "/readyz", needs_key=False))
        return answer

    def get_metrics(self) -> Download:
        """Get Prometheus metrics of all apps

        Requires the API key of a platform administrator.
        """
        return self._download(Call("GET", "/metrics"))

    def get_map_settings(self) -> types.InstalledMapSettings:
        """Get the background of the map

        Requires the API key of a platform administrator.
        """
        answer: types.InstalledMapSettings = self._json(Call("GET", "/map-settings"))
        return answer

    def replace_map_settings(self, body: types.ReplaceMapSettingsRequest) -> types.InstalledMapSettings:
        """Set the background of the map

        Sets what the page draws below the fleet, for the whole installation. Pages that are opened or reloaded a
        second later show it. Whoever opens the map loads its tiles from the named servers, which learn the network
        address of the reader and the area on the screen.

        Requires the API key of a platform administrator.
        """
        answer: types.InstalledMapSettings = self._json(Call("PUT", "/map-settings", json=body))
        return answer

    def get_open_api_document(self) -> types.OpenApiDocument:
        """Get the OpenAPI 3.1 document

        Requires no credentials.
        """
        answer: types.OpenApiDocument = self._json(Call("GET", "/openapi.json", needs_key=False))
        return answer

    def get_api_reference(self) -> Download:
        """Read this API reference as a web page

        Requires no credentials.
        """
        return self._download(Call("GET", "/docs", needs_key=False))
