//! Which task instances get heartbeats, and which are ended.

use super::*;

#[test]
fn only_what_runs_and_has_not_reported_its_state_gets_heartbeats() {
    let running = Running::default();
    let [first, second] = [Uuid::from_u128(1), Uuid::from_u128(2)].map(|id| running.take_up(id));
    assert_eq!(running.beating(), []);
    running.started(first.0, 7);
    running.started(second.0, 8);
    running.settled(second.0);
    assert_eq!(running.beating(), [(first.0, Process { id: Uuid::from_u128(1), pid: 7 })]);
    running.give_up(Duration::ZERO);
    assert_eq!(*first.1.borrow(), Some(EndOrder::HeartbeatsFailed));
    assert_eq!(*second.1.borrow(), None);
    running.order_all(EndOrder::Shutdown);
    assert_eq!(*first.1.borrow(), Some(EndOrder::HeartbeatsFailed), "the first order counts");
    assert_eq!(*second.1.borrow(), Some(EndOrder::Shutdown));
    running.remove(first.0);
    assert_eq!(running.slots(), 1);
}

#[test]
fn what_has_reported_its_state_is_not_turned_away() {
    let running = Running::default();
    let id = Uuid::from_u128(1);
    let ((reported, reported_orders), (other, other_orders)) = (running.take_up(id), running.take_up(id));
    for ticket in [reported, other] {
        running.started(ticket, 7);
    }
    running.reports(reported, true);
    assert_eq!(running.in_rows(), [(other, Process { id, pid: 7 })]);
    assert_eq!(running.beating().len(), 2, "it lives until its row says otherwise");
    for ticket in [reported, other] {
        running.turn_away_entry(ticket);
    }
    assert_eq!((*reported_orders.borrow(), *other_orders.borrow()), (None, Some(EndOrder::Unwanted)));
    running.settled(reported);
    running.turn_away(id);
    assert_eq!(*reported_orders.borrow(), None, "what follows its end is not cut short");
    running.order_all(EndOrder::Shutdown);
    assert_eq!(*reported_orders.borrow(), Some(EndOrder::Shutdown), "but by other orders");
    running.remove(reported);
    assert_eq!(running.slots(), 1, "the other stays");
}

#[test]
fn what_gets_heartbeats_lives() {
    let running = Running::default();
    let id = Uuid::from_u128(1);
    let (ticket, _orders) = running.take_up(id);
    let lives = |limit| running.lives(id, limit);
    assert!(!lives(Duration::MAX), "its row does not say that it runs");
    running.started(ticket, 7);
    assert_eq!([lives(Duration::MAX), lives(Duration::ZERO)], [true, false]);
    running.reports(ticket, true);
    assert!(lives(Duration::MAX), "until what became of it is in its row");
    running.settled(ticket);
    assert!(!lives(Duration::MAX));
}

#[test]
fn what_is_turned_away_while_it_reports_its_state_ends_if_it_could_not() {
    let running = Running::default();
    let id = Uuid::from_u128(1);
    let (ticket, orders) = running.take_up(id);
    running.started(ticket, 7);
    running.reports(ticket, true);
    running.turn_away(id);
    assert_eq!(*orders.borrow(), None);
    running.reports(ticket, false);
    assert_eq!(*orders.borrow(), Some(EndOrder::Unwanted));
}

#[test]
fn what_reports_its_state_is_not_given_up_however_long_that_takes() {
    let running = Running::default();
    let (ticket, orders) = running.take_up(Uuid::from_u128(1));
    running.started(ticket, 7);
    running.reports(ticket, true);
    running.give_up(Duration::ZERO);
    assert_eq!(*orders.borrow(), None);
}

#[test]
fn what_gives_its_slot_back_lives_on() {
    let running = Running::default();
    let id = Uuid::from_u128(1);
    let (ticket, orders) = running.take_up(id);
    running.started(ticket, 7);
    running.reports(ticket, true);
    assert_eq!([running.give_slot_back(ticket), running.give_slot_back(ticket)], [true, false]);
    assert_eq!((running.slots(), running.beating()), (0, vec![(ticket, Process { id, pid: 7 })]));
    running.reports(ticket, false);
    running.turn_away(id);
    assert_eq!(*orders.borrow(), Some(EndOrder::Unwanted));
    running.remove(ticket);
    assert!(!running.give_slot_back(ticket));
}

#[test]
fn what_cannot_be_killed_keeps_its_slot_until_it_is_gone() {
    let running = Running::default();
    let (ticket, _orders) = running.take_up(Uuid::from_u128(1));
    running.started(ticket, 7);
    let (telling, gone) = watch::channel(false);
    running.cannot_be_killed(ticket, Remains::new(7, gone));
    assert!(!running.give_slot_back(ticket));
    assert_eq!(running.slots(), 1);
    telling.send_replace(true);
    assert!(running.give_slot_back(ticket));
    assert_eq!(running.slots(), 0);
}

#[test]
fn what_has_not_begun_is_turned_away() {
    let running = Running::default();
    let (_, orders) = running.take_up(Uuid::from_u128(1));
    running.turn_away(Uuid::from_u128(1));
    assert_eq!(*orders.borrow(), Some(EndOrder::Unwanted));
}

#[test]
fn a_heartbeat_that_is_not_taken_is_repeated_unless_the_task_is_ended() {
    let running = Running::default();
    let (ticket, _orders) = running.take_up(Uuid::from_u128(1));
    running.started(ticket, 7);
    let beating = running.beating();
    assert!(
        !running.heard(&beating, &[])
            && running.heard(&beating, &[Process { id: Uuid::from_u128(1), pid: 7 }])
    );
    running.turn_away_entry(ticket);
    assert!(!running.heard(&beating, &[Process { id: Uuid::from_u128(1), pid: 7 }]));
}
