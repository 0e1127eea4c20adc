#include "steelyard/apply/nginx/store.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "steelyard/apply/nginx/plan.h"

namespace steelyard::apply::nginx {
namespace {

using base::Result;

constexpr unsigned kMode = 0640;  // node addresses are nobody else's business

Result<Content> content(const std::string& path) {
  auto text = io::read_file(path);
  if (text) return Content(std::move(*text));
  if (text.error().code == base::Code::kNotFound) return Content();
  return text.error();
}

Outcome failed(const base::Error& error) {
  Outcome out;
  out.ok = false;
  out.error = error.describe();
  return out;
}

Outcome outcome_of(const Result<void>& result) {
  return result ? Outcome() : failed(result.error());
}

// Removes what killed processes left of their writes to FILE, .prev and .good: names that begin
// like io's temporary files of these, followed by the id of a process that is gone.
void sweep(const std::string& file) {
  namespace fs = std::filesystem;
  const fs::path path(file);
  std::error_code failed_to;
  for (const auto& entry : fs::directory_iterator(path.parent_path(), failed_to)) {
    const std::string name = entry.path().filename().string();
    for (const auto& target : {file, Store::beside(file, "prev"), Store::beside(file, "good")}) {
      const std::string prefix = "." + fs::path(target).filename().string() + ".";
      if (!name.starts_with(prefix)) continue;
      const std::string rest = name.substr(prefix.size());
      const auto digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
      const std::string end = rest.substr(digits);
      if (digits == 0 || (end != ".new" && end != ".new.test")) continue;
      if (!fs::exists("/proc/" + rest.substr(0, digits), failed_to)) {
        fs::remove(entry.path(), failed_to);
      }
    }
  }
}

// Makes `path` hold `text`, or not be there.
Result<void> put(const std::string& path, const Content& text, bool in_place = false) {
  if (!text && !in_place) return io::remove_file(path);
  return io::replace_file(path, text.value_or(""), {.mode = kMode, .in_place = in_place});
}

}  // namespace

std::string Store::beside(const std::string& file, std::string_view what) {
  const auto slash = file.rfind('/') + 1;  // 0 when there is none
  return file.substr(0, slash) + "." + file.substr(slash) + ".steelyard." + std::string(what);
}

Outcome Store::perform(const Action& action) {
  const std::string& file = action.target;
  Files& files = targets_[file];
  switch (action.what) {
    case Do::kLock:
      return lock(file, files);
    case Do::kCheck:
      return check(file, files);
    case Do::kLoad:
      return load(file);
    case Do::kLook: {
      auto text = content(file);
      if (!text) return failed(text.error());
      Outcome out;
      out.file = std::move(*text);
      return out;
    }
    case Do::kMark: {
      const auto marked = put(beside(file, "prev"), action.text.value_or(""));
      return outcome_of(marked ? io::remove_file(beside(file, "good")) : marked);
    }
    case Do::kStage: {
      files.staged.reset();
      auto staged = io::StagedFile::stage(file, action.text.value_or(""),
                                          {.mode = kMode, .in_place = files.in_place});
      if (!staged) return failed(staged.error());
      files.staged.emplace(std::move(*staged));
      return {};
    }
    case Do::kInstall:
      return install(action, files);
    case Do::kUndo:
      return undo(action, files);
    case Do::kCommit:
      return outcome_of(put(beside(file, "good"), action.text));
    case Do::kForget:
      return outcome_of(io::remove_file(beside(file, "prev")));
    case Do::kRelease:
      targets_.erase(file);
      return {};
    default:
      return {};
  }
}

Outcome Store::check(const std::string& file, const Files& files) {
  Outcome out = outcome_of(io::can_replace(file, {.mode = kMode, .in_place = files.in_place}));
  if (!out.ok && !files.in_place && io::is_mount_point(file)) {
    out.error += " (apply.nginx.write: in_place)";
  }
  // In place or not, .prev, .good and the lock are made beside it.
  if (out.ok && files.in_place) return outcome_of(io::can_replace(beside(file, "prev")));
  return out;
}

Outcome Store::lock(const std::string& file, Files& files) {
  if (files.lock) return {};
  auto got = io::LockFile::acquire(beside(file, "lock"), "steelyard " + file);
  if (!got) return failed(got.error());
  files.lock.emplace(std::move(*got));
  return {};
}

Outcome Store::load(const std::string& file) {
  sweep(file);
  auto text = content(file);
  auto prev = content(beside(file, "prev"));
  auto good = content(beside(file, "good"));
  for (const auto* read : {&text, &prev, &good}) {
    if (!*read) return failed(read->error());
  }
  Outcome out;
  out.file = std::move(*text);
  out.prev = std::move(*prev);
  out.good = std::move(*good);
  return out;
}

Outcome Store::install(const Action& action, Files& files) {
  auto staged = std::exchange(files.staged, std::nullopt);
  auto now = content(action.target);
  if (!now) return failed(now.error());
  if (*now != action.expect) {
    Outcome out;
    out.changed = true;
    out.file = std::move(*now);
    return out;
  }
  if (!action.text) return outcome_of(put(action.target, {}, files.in_place));
  if (!staged) return failed({.code = base::Code::kConflict, .text = "nothing was staged"});
  return outcome_of(staged->commit());
}

Outcome Store::undo(const Action& action, Files& files) {
  const auto now = content(action.target);
  if (!now) return failed(now.error());
  if (*now && owner(**now) == Owner::kForeign) {
    return failed({.code = base::Code::kConflict,
                   .text = action.target + " was replaced by a file that steelyard did not write"});
  }
  return outcome_of(put(action.target, action.text, files.in_place));
}

}  // namespace steelyard::apply::nginx
