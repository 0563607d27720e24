"""Uses every resource of the Python client on a real stack, blocking and asynchronously."""

from __future__ import annotations

import asyncio
import os
import threading
import time

import httpx

from shorthop import AsyncShorthop, Shorthop, ShorthopError

URL, KEY, TAG, LINKS = (os.environ[name] for name in ("API_URL", "KEY", "TAG", "LINKS"))


def use_links(shorthop: Shorthop) -> str:
    link = shorthop.links.create(url="https://example.com/python", title="A", tags=["py"])
    id = link["id"]
    try:
        shorthop.links.create(url="https://example.com/", alias=link["alias"])
        raise AssertionError("The alias was taken twice.")
    except ShorthopError as error:
        assert error.code == "alias_taken", error
        assert error.request_id and error.doc_url, error
    found, etag = shorthop.links.get_with_etag(id)
    assert found["title"] == "A"
    assert shorthop.links.update(id, title="B", if_match=etag)["title"] == "B"
    try:
        shorthop.links.update(id, title="C", if_match=etag)
        raise AssertionError("A change was lost.")
    except ShorthopError as error:
        assert error.code == "precondition_failed", error
    assert shorthop.links.update(id, title=None).get("title") is None
    assert shorthop.links.look_up(short_url=link["short_url"])["id"] == id
    assert shorthop.links.list(tag="py", limit=1)["data"][0]["id"] == id
    assert shorthop.links.qr(id, format="svg").startswith(b"<svg")
    assert shorthop.links.explain(id, country="DE")["target"]
    own = shorthop.links.upsert("py/1", url="https://example.com/own")
    assert shorthop.links.get_by_external_id("py/1")["id"] == own["id"]
    shorthop.links.update_by_external_id("py/1", title="Own")
    shorthop.links.delete_by_external_id("py/1")
    many = shorthop.links.create_many(
        [{"url": f"https://example.com/{i}", "tags": ["py-many"]} for i in range(120)]
    )
    ids = [entry["link"]["id"] for entry in many["data"] if "link" in entry]
    assert many["created"] == 120 and len(ids) == 120
    assert shorthop.links.check_many([{"url": "x"}])["failed"] == 1
    assert (
        shorthop.links.update_many([{"id": each, "title": "N"} for each in ids])["updated"] == 120
    )
    assert shorthop.tags.merge(tags=["py-many"], into="py-all")["changed"] == 120
    assert shorthop.tags.update("py-all", color="red")["name"] == "py-all"
    assert "py-all" in [tag["name"] for tag in shorthop.tags.all()]
    assert shorthop.tags.list(limit=1)["data"]
    assert shorthop.tags.delete("py-all")["changed"] == 120
    assert shorthop.links.delete_many(ids)["deleted"] == 120
    return id


def use_clicks(shorthop: Shorthop, id: str) -> None:
    short_url = shorthop.links.get(id)["short_url"]
    agent = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"
    with httpx.Client(headers={"user-agent": agent}) as visitor:
        assert visitor.get(short_url).status_code == 302
    for _ in range(100):
        if shorthop.analytics.summary(id, period="24h")["summary"]["total_clicks"] == 1:
            break
        time.sleep(0.2)
    else:
        raise AssertionError("The click was not counted.")
    analytics = shorthop.analytics
    for report in (
        analytics.geo,
        analytics.devices,
        analytics.referrers,
        analytics.targets,
        analytics.times,
    ):
        assert report(id, period="24h")
    for report in (
        analytics.account,
        analytics.account_geo,
        analytics.account_devices,
        analytics.account_referrers,
        analytics.account_times,
        analytics.failures,
    ):
        assert report(period="24h")
    assert [row["clicks"] for row in analytics.breakdown_all(id, by="browser", period="24h")] == [1]
    assert list(analytics.account_breakdown_all(by="link", period="24h"))
    assert analytics.csv.summary(id, period="24h").startswith("date,clicks")
    assert analytics.csv.account_geo(period="24h")
    assert analytics.bulk(link_ids=[id])["data"]
    assert len(list(shorthop.clicks.all(link_id=[id]))) == 1
    assert len(list(shorthop.clicks.export(link_id=[id]))) == 1
    assert shorthop.clicks.csv(link_id=[id], class_="human").count("\n") >= 2
    watched = threading.Event()

    def visit() -> None:
        while not watched.wait(0.5):
            httpx.get(short_url, headers={"user-agent": agent})

    threading.Thread(target=visit, daemon=True).start()
    for click in analytics.stream(id):
        assert click["class"] == "human" and click["id"]
        break
    watched.set()


def use_the_rest(shorthop: Shorthop) -> None:
    assert shorthop.limits.get()["limits"]
    key = shorthop.keys.create(name="py", scopes=["links:read"])
    assert shorthop.keys.get(key["id"])["name"] == "py"
    assert shorthop.keys.rotate(key["id"])["key"] != key["key"]
    assert key["id"] in [each["id"] for each in shorthop.keys.all()]
    shorthop.keys.revoke(key["id"])
    host = f"py-{time.time_ns()}.example.com"
    domain = shorthop.domains.create(domain=host)
    assert shorthop.domains.get(domain["id"])["status"] == "pending"
    assert domain["id"] in [each["id"] for each in shorthop.domains.all()]
    shorthop.domains.delete(domain["id"])
    share = shorthop.shares.create(name="py")
    token = shorthop.shares.rotate(share["id"])["token"]
    assert shorthop.shared.get(token)
    shorthop.shares.update(share["id"], name="py2")
    assert [each["name"] for each in shorthop.shares.all()] == ["py2"]
    shorthop.shares.revoke(share["id"])
    assert shorthop.branding.update(name="Acme")["name"] == shorthop.branding.get()["name"]
    shorthop.views.save("py", query="device=mobile")
    assert shorthop.views.list()["data"]
    shorthop.views.delete("py")
    shorthop.link_filters.save("py", query="tag=py")
    assert shorthop.link_filters.list()["data"]
    shorthop.link_filters.delete("py")
    shorthop.utm_templates.save("py", query="utm_source=py")
    assert shorthop.utm_templates.list()["data"]
    shorthop.utm_templates.delete("py")
    hook = shorthop.webhooks.create(url="https://example.com/hook", events=["*"])
    assert shorthop.webhooks.rotate(hook["id"])["secret"] != hook["secret"]
    shorthop.webhooks.update(hook["id"], status="paused")
    assert shorthop.webhooks.get(hook["id"])["status"] == "paused"
    assert shorthop.webhooks.deliveries(hook["id"])["data"] is not None
    assert list(shorthop.webhooks.all())
    shorthop.webhooks.delete(hook["id"])
    report = shorthop.reports.create(name="py", period="weekly")
    assert shorthop.reports.get(report["id"])["name"] == "py"
    shorthop.reports.update(report["id"], status="paused")
    assert list(shorthop.reports.all()) and shorthop.reports.runs(report["id"])["data"] is not None
    shorthop.reports.delete(report["id"])
    assert shorthop.events.list(limit=1)["data"]
    assert next(shorthop.events.follow())["id"]


async def use_asynchronously() -> None:
    async with AsyncShorthop(URL, KEY) as shorthop:
        links = await asyncio.gather(
            *(shorthop.links.create(url=f"https://example.com/{i}") for i in range(5))
        )
        assert len({link["id"] for link in links}) == 5
        found = [link["id"] async for link in shorthop.links.all(tag=TAG)]
        assert len(found) == len(set(found)) == int(LINKS), len(found)
        await shorthop.links.delete_many([link["id"] for link in links])
        async for event in shorthop.events.follow(type=["link.deleted"]):
            assert event["type"] == "link.deleted"
            break


with Shorthop(URL, KEY) as client:
    used = use_links(client)
    use_clicks(client, used)
    use_the_rest(client)
    started = time.monotonic()
    assert sum(1 for _ in client.links.all(tag=TAG)) == int(LINKS)
    print(f"{LINKS} links by iterator in {time.monotonic() - started:.1f} s")
    client.links.delete(used)
asyncio.run(use_asynchronously())
print("done")
